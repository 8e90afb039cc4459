package run

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
)

// Command makes the train command. networkOf finds the network that the
// settings ask for.
func Command(networkOf func(*config.Settings) (Network, error)) *cobra.Command {
	var c trainCommand
	command := &cobra.Command{
		Use:   "train",
		Short: "Train a network, natively or with its stages recorded and replayed",
		Long: `Train a network on labelled images. Settings are dotted keys, in a YAML file
given by -config or as flags; flags win. The run folder, runs/ and the name of the
task unless run.dir says another, receives the resolved settings, every loss and
the latest checkpoint, from which run.resume continues to the same bytes. A folder
that holds the checkpoint of another fit is refused unless run.overwrite is set. A
new fit may start from the weights of another by run.weights, as far as they fit.
Recording changes no byte of the result.`,
		Example: `  reprise train -task obb -data data.yaml --model.capture_network=true --run.dir=runs/first
  reprise train -config settings.yaml -data data.yaml --trainer.max_epochs=8
  reprise train -task obb -data data.yaml --run.dir=runs/first --run.resume=runs/first/last.safetensors`,
		Args: NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if c.data == "" {
				return errors.New("-data is not set; give the data.yaml or the root directory of a data set")
			}
			settings, err := c.settings(command)
			if err != nil {
				return err
			}
			if c.stopAfter < 0 {
				return fmt.Errorf("-stop-after is %d; give a number of optimizer steps, or leave it out", c.stopAfter)
			}
			network, err := networkOf(settings)
			if err != nil {
				return err
			}
			return c.run(command, settings, network)
		},
	}
	command.SetFlagErrorFunc(SuggestFlag)
	flags := command.Flags()
	flags.StringVar(&c.data, "data", "", "`FILE` data.yaml, or the root directory of a data set")
	flags.StringVar(&c.config, "config", "", "YAML `FILE` of settings")
	flags.BoolVar(&c.json, "json", false, "write the summary as JSON")
	flags.BoolVar(&c.explain, "explain", false, "before the first step, print what is recorded of each stage, what is not, and why")
	flags.IntVar(&c.stopAfter, "stop-after", 0, "end after this many optimizer steps, with a checkpoint")
	config.Register(flags)
	return command
}

type trainCommand struct {
	data, config string
	json         bool
	explain      bool
	stopAfter    int
}

// settings resolves the settings. Counts of classes and keypoints that nobody set
// are those of the data set.
func (c *trainCommand) settings(command *cobra.Command) (*config.Settings, error) {
	flags := command.Flags()
	described, dataErr := data.ReadConfig(c.data)
	settings, err := config.Load(c.config, flags)
	if err != nil && dataErr == nil && described.Keypoints.Count > 0 && !flags.Changed("model.keypoints") {
		// The count has no default, so its absence may be what Load reports.
		if err := flags.Set("model.keypoints", strconv.Itoa(described.Keypoints.Count)); err != nil {
			return nil, err
		}
		if counted, stillWrong := config.Load(c.config, flags); stillWrong == nil && counted.Task == "pose" {
			settings, err = counted, nil
		}
	}
	if err != nil || settings.Given("model.classes") {
		return settings, err
	}
	if dataErr != nil {
		return nil, dataErr
	}
	if err := flags.Set("model.classes", strconv.Itoa(len(described.Names))); err != nil {
		return nil, err
	}
	return config.Load(c.config, flags)
}

func (c *trainCommand) run(command *cobra.Command, settings *config.Settings, network Network) error {
	request := Request{Settings: settings, Network: network, DataFile: c.data, StopAfter: c.stopAfter, Progress: command.ErrOrStderr()}
	if c.explain {
		request.Explain = command.OutOrStdout()
		if c.json { // standard output is for one JSON text
			request.Explain = command.ErrOrStderr()
		}
	}
	summary, err := Fit(command.Context(), request)
	if err != nil && command.Context().Err() != nil {
		err = fmt.Errorf("%w: %w", ErrInterrupted, err)
	}
	if summary == nil {
		return err
	}
	if err != nil && summary.Checkpoint != "" {
		err = fmt.Errorf("%w; give the same command with --run.resume=%s to go on", err, summary.Checkpoint)
	}
	return errors.Join(c.print(command.OutOrStdout(), summary), err)
}

func (c *trainCommand) print(w io.Writer, summary *Summary) error {
	if c.json {
		return summary.WriteJSON(w)
	}
	return summary.WriteText(w)
}

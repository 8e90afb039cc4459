package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/internal/predict"
	"github.com/reprise-ml/reprise/internal/run"
)

func newPredictCommand() *cobra.Command {
	var request predict.Request
	var deviceName string
	var asJSON bool
	command := &cobra.Command{
		Use:   "predict",
		Short: "Draw what a trained network finds on images",
		Long: `Run the network of a checkpoint on an image or on all images of a directory and
draw boxes, rotated boxes, masks or skeletons. Task, class names and input size
are those of the checkpoint; the averaged weights predict.`,
		Example: `  reprise predict -weights runs/obb/last.safetensors -source photo.jpg -out predictions
  reprise predict -weights runs/obb/last.safetensors -source photos -out predictions -json -conf 0.5`,
		Args: run.NoArguments,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			for _, flag := range []struct{ name, value, what string }{
				{"-weights", request.Weights, "a checkpoint"}, {"-source", request.Source, "an image or a directory of images"},
				{"-out", request.Dir, "a directory for the pictures"},
			} {
				if flag.value == "" {
					return fmt.Errorf("%s is not set; give %s", flag.name, flag.what)
				}
			}
			dev, err := run.OpenDevice(deviceName)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, dev.Close()) }()
			results, err := predict.Run(command.Context(), dev, request)
			return errors.Join(printPredictions(command, results, asJSON), err)
		},
	}
	flags := command.Flags()
	flags.StringVar(&request.Weights, "weights", "", "checkpoint `FILE`")
	flags.StringVar(&request.Source, "source", "", "`IMAGE` or directory of images")
	flags.StringVar(&request.Dir, "out", "", "`DIR` for the pictures")
	flags.Float64Var(&request.Threshold, "conf", 0.25, "lowest score that is shown")
	flags.BoolVar(&request.Raw, "raw", false, "predict with the weights as trained, not with their average")
	flags.StringVar(&deviceName, "device", "host", "back end that computes: host or cuda")
	flags.BoolVar(&asJSON, "json", false, "write what was found as JSON")
	return command
}

func printPredictions(command *cobra.Command, results []predict.Result, asJSON bool) error {
	out := command.OutOrStdout()
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(results)
	}
	for _, result := range results {
		if _, err := fmt.Fprintf(out, "%s: %d found, %s\n", result.Image, len(result.Instances), result.Picture); err != nil {
			return err
		}
	}
	return nil
}

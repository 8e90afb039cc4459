package main

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/internal/demo"
	"github.com/reprise-ml/reprise/internal/run"
)

// newDemoCommand makes the command that shows what the project is for.
func newDemoCommand() *cobra.Command {
	var o demo.Options
	var asJSON bool
	command := &cobra.Command{
		Use:   "demo",
		Short: "Train the test-scale network natively and replayed, and compare every byte",
		Long: `Draw synthetic oriented scenes, train the test-scale network on them twice on the
host, natively and with its network recorded and replayed, print both fits side by
side with the hashes of their results, and draw predictions on unseen scenes.`,
		Example: `  reprise demo -out demo`,
		Args:    run.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			result, err := demo.Run(command.Context(), o, command.ErrOrStderr())
			if result == nil {
				return err
			}
			out := command.OutOrStdout()
			if !asJSON {
				return errors.Join(result.WriteText(out), err)
			}
			encoder := json.NewEncoder(out)
			encoder.SetIndent("", "  ")
			return errors.Join(encoder.Encode(result), err)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.Dir, "out", "demo", "`FOLDER` for the scenes and the picture")
	flags.IntVar(&o.Steps, "steps", 60, "optimizer steps of each fit")
	flags.BoolVar(&asJSON, "json", false, "write JSON")
	return command
}

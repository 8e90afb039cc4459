package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/internal/scaffold"
)

func newNewCommand() *cobra.Command {
	var request scaffold.Request
	command := &cobra.Command{
		Use:   "new [flags] DIR",
		Short: "Start a module with a network of another scale or number of classes",
		Long: `Start a module with a network of another scale or number of classes.

DIR receives a definition with its parameters, a main.go that trains it, go.mod
and go.sum. There, "go generate && go run . -data FILE" generates and trains.`,
		Example: `  reprise new -task obb -scale s -classes 7 ships`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%d folders given; give one, such as reprise new ships", len(args))
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			given := command.Flags().Changed
			request.Dir, request.ClassesGiven, request.KeypointsGiven = args[0], given("classes"), given("keypoints")
			if err := scaffold.Write(command.Context(), request); err != nil {
				return err
			}
			_, err := fmt.Fprintf(command.OutOrStdout(), "cd %s && go generate && go run . -data FILE\n", args[0])
			return err
		},
	}
	flags := command.Flags()
	flags.StringVar(&request.Task, "task", "obb", "task of the network")
	flags.StringVar(&request.Scale, "scale", "n", "scale of the network: n, s, m, l, x, or t for tests")
	flags.IntVar(&request.Classes, "classes", 0, "number of classes (default: that of the published model)")
	flags.IntVar(&request.Keypoints, "keypoints", 0, "number of keypoints of an object, for pose (default: that of the published model)")
	flags.StringVar(&request.Module, "module", "", "module path (default: example.com/ and the name of DIR)")
	return command
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/internal/run"
)

// execute runs a command line and gives the exit code: 0, or 1 after an error,
// which is printed once.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := newRootCommand()
	root.SetArgs(run.DoubleDashes(args))
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "reprise",
		Short:         "Record the stages of a network once and replay them at every step",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(run.SuggestFlag)
	root.AddCommand(
		newBenchCommand(),
		newDataCommand(),
		newGenCommand(),
		newImageCommand(),
		newInspectCommand(),
		newNewCommand(),
		newDemoCommand(),
		newPredictCommand(),
		newTrainCommand(),
		newValCommand(),
		newVerifyCommand(),
	)
	return root
}

// atLeastOne refuses a command line without arguments and tells the remedy.
func atLeastOne(remedy string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("no argument is given; " + remedy)
		}
		return nil
	}
}

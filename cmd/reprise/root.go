package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/internal/run"
)

// execute runs a command line and gives the exit code: 0, or 1 after an error,
// which is printed once.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, stop := run.Interruptible()
	defer stop()
	root := newRootCommand()
	args = run.DoubleDashes(args)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := unknownMember(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, plain(ctx, err))
		return 1
	}
	return 0
}

// plain is the text of an error for the user, who has interrupted the command if
// ctx has ended.
func plain(ctx context.Context, err error) string {
	text := err.Error()
	switch {
	case ctx.Err() == nil || !errors.Is(err, context.Canceled) || errors.Is(err, run.ErrInterrupted):
		return text
	case text == context.Canceled.Error():
		return "interrupted"
	}
	return "interrupted: " + text
}

// unknownMember refuses what follows a group of commands, such as data, and is
// none of them; cobra would print the help of the group and succeed.
func unknownMember(root *cobra.Command, args []string) error {
	group, rest, err := root.Find(args)
	if err != nil || group == root || group.Runnable() || len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return nil // what root does not know is for cobra
	}
	var names []string
	for _, member := range group.Commands() {
		names = append(names, member.Name())
	}
	return fmt.Errorf("unknown command %q for %q; there are: %s", rest[0], group.CommandPath(), strings.Join(names, ", "))
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

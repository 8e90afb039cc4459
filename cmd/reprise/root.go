package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
)

// run executes a command line and gives the exit code: 0, or 1 after an error,
// which is printed once.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := newRootCommand()
	root.SetArgs(doubleDashes(args))
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
	root.AddCommand(
		newGenCommand(),
		newInspectCommand(),
	)
	return root
}

// doubleDashes lets flags be written with one dash, as Go's own commands do:
// -check is --check. No flag of this command has a one-letter form but -h, so
// nothing else can be meant. Numbers stay, and so does what follows "--".
func doubleDashes(args []string) []string {
	out := make([]string, len(args))
	copy(out, args)
	for i, a := range out {
		if a == "--" {
			break
		}
		if len(a) > 2 && a[0] == '-' && isLetter(a[1]) {
			out[i] = "-" + a
		}
	}
	return out
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// Package train is the trainer for networks that were generated in a module
// of one's own:
//
//	func main() {
//		train.Main(train.Network{
//			Task: "obb", Scale: "s", Classes: 7,
//			Plans: []func() (*replay.Plan, error){network.Plan},
//		})
//	}
//
// It reads the same settings, data sets and checkpoints as reprise train.
package train

import (
	"context"
	"fmt"
	"os"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/run"
)

// Network is a generated network: task, scale, class count and the plans of
// its stages, in the order in which they run.
type Network = run.Network

// Main trains as the command line says and ends the process: exit code 0, or
// 1 after an error. Task, scale and class count are those of the network.
func Main(n Network) {
	ctx, stop := run.Interruptible()
	defer stop()
	if err := Run(ctx, n, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Run trains as the arguments say; see Main.
func Run(ctx context.Context, n Network, args []string) error {
	command := run.Command(func(*config.Settings) (Network, error) { return n, nil })
	own := []string{"--task=" + n.Task, "--model.scale=" + n.Scale, fmt.Sprintf("--model.classes=%d", n.Classes)}
	if n.Keypoints > 0 {
		own = append(own, fmt.Sprintf("--model.keypoints=%d", n.Keypoints))
	}
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(append(own, run.DoubleDashes(args)...))
	return command.ExecuteContext(ctx)
}

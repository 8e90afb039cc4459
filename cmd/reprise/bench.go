package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/bench"
	"github.com/reprise-ml/reprise/internal/inspect"
	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/runtime/device"
)

func newBenchCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure speed and memory",
	}
	command.AddCommand(newBenchStageCommand())
	return command
}

// benchFlags are the flags of the bench stage command as they were typed.
type benchFlags struct {
	task, scale, stage, size, precision, device string
	batch                                       int
	repeats                                     bench.Repeats
	json                                        bool
}

func newBenchStageCommand() *cobra.Command {
	var f benchFlags
	command := &cobra.Command{
		Use:   "stage",
		Short: "Measure a recordable stage, natively and replayed",
		Long: `Measure the forward and the backward program of a recordable stage on one
device, launch by launch and replayed: medians of device time, the host's time of
issuing a step, launches, the time of recording and of loading kernels, peak
memory, and the rates against the bytes and operations that the plan counts.

Inputs and cotangents are random; there is no objective and no optimizer.`,
		Example: `  reprise bench stage -task obb -batch 4 -size 1024 -precision bf16
  reprise bench stage -task segment -stage prototypes -batch 4 -json
  reprise bench stage -device host -task obb -scale t -size 128 -precision fp32 -steps 5`,
		Args: run.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			report, err := f.run()
			if err != nil {
				return err
			}
			if f.json {
				return report.WriteJSON(command.OutOrStdout())
			}
			return report.WriteText(command.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.task, "task", "obb", "task of the network: detect, obb, pose or segment")
	flags.StringVar(&f.scale, "scale", "n", "scale of the network: n, s, m, l, x, or t for tests")
	flags.StringVar(&f.stage, "stage", "", "name of the stage (default: the first of the task, such as features)")
	flags.IntVar(&f.batch, "batch", 4, "images in a batch")
	flags.StringVar(&f.size, "size", "", "input size in pixels: one number, or HEIGHTxWIDTH (default: that of the published counts)")
	flags.StringVar(&f.precision, "precision", "bf16", "fp32, fp16 or bf16; on the host also float64")
	flags.StringVar(&f.device, "device", "cuda", "host or cuda")
	flags.IntVar(&f.repeats.Warmup, "warmup", 10, "steps before the measurement")
	flags.IntVar(&f.repeats.Steps, "steps", 30, "steps of which the medians are taken")
	flags.BoolVar(&f.json, "json", false, "write one line of JSON for each way")
	return command
}

// run checks the flags and measures.
func (f benchFlags) run() (*bench.Report, error) {
	network, err := inspect.FindNetwork(f.task)
	if err != nil {
		return nil, fmt.Errorf("-task: %w", err)
	}
	if _, err := inspect.FindScale(f.scale); err != nil {
		return nil, fmt.Errorf("-scale: %w", err)
	}
	sizes := ir.Sizes{Batch: f.batch, Height: network.Size, Width: network.Size}
	if f.size != "" {
		if sizes.Height, sizes.Width, err = parseSize(f.size); err != nil {
			return nil, fmt.Errorf("-size: %w", err)
		}
	}
	if f.batch < 1 {
		return nil, fmt.Errorf("-batch: %d is no number of images; give 1 or more", f.batch)
	}
	precision := device.Precision(f.precision)
	switch precision {
	case device.FP32, device.FP16, device.BF16, device.Float64:
	default:
		return nil, fmt.Errorf("-precision is %q; use fp32, fp16, bf16 or float64", f.precision)
	}
	d, err := run.OpenDevice(f.device)
	if err != nil {
		return nil, fmt.Errorf("-device: %w", err)
	}
	report, err := bench.Run(d, bench.Workload{Task: f.task, Scale: f.scale, Stage: f.stage, Sizes: sizes, Precision: precision}, f.repeats)
	return report, errors.Join(err, d.Close())
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/inspect"
	"github.com/reprise-ml/reprise/internal/run"
)

// inspectFlags are the flags of the inspect command as they were typed.
type inspectFlags struct {
	task, scale, size string
	batch, classes    int
	json              bool
	svg               string
}

// newInspectCommand makes the command that shows what a network consists of.
func newInspectCommand() *cobra.Command {
	var f inspectFlags
	command := &cobra.Command{
		Use:   "inspect",
		Short: "Show the layers, counts, launches and memory of a network",
		Long: `Show the layers of a network with shapes, parameters and multiply-accumulates,
its totals, the launches of each program of its plan and the bytes of its arena.`,
		Example: `  reprise inspect --task obb --scale n --size 1024 --batch 4
  reprise inspect --task obb --scale s --json
  reprise inspect --task obb --svg network.svg`,
		Args: run.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			request, err := f.request(command.Flags().Changed("classes"))
			if err != nil {
				return err
			}
			report, err := inspect.Inspect(request)
			if err != nil {
				return err
			}
			if f.svg != "" {
				if err := writeDrawing(report, f.svg); err != nil {
					return err
				}
			}
			if f.json {
				return report.WriteJSON(command.OutOrStdout())
			}
			return report.WriteText(command.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.task, "task", "obb", "task of the network")
	flags.StringVar(&f.scale, "scale", "n", "scale of the network: n, s, m, l, x, or t for tests")
	flags.StringVar(&f.size, "size", "", "input size in pixels: one number, or HEIGHTxWIDTH (default: that of the published counts)")
	flags.IntVar(&f.batch, "batch", 1, "images in a batch")
	flags.IntVar(&f.classes, "classes", 0, "number of classes (default: that of the published model)")
	flags.BoolVar(&f.json, "json", false, "write JSON in place of tables")
	flags.StringVar(&f.svg, "svg", "", "also draw the network to this `FILE`")
	return command
}

// request checks the flags; an error names the flag and what it takes.
func (f inspectFlags) request(ownClasses bool) (inspect.Request, error) {
	network, err := inspect.FindNetwork(f.task)
	if err != nil {
		return inspect.Request{}, fmt.Errorf("--task: %w", err)
	}
	scale, err := inspect.FindScale(f.scale)
	if err != nil {
		return inspect.Request{}, fmt.Errorf("--scale: %w", err)
	}
	sizes := ir.Sizes{Batch: f.batch, Height: network.Size, Width: network.Size}
	if f.size != "" {
		if sizes.Height, sizes.Width, err = parseSize(f.size); err != nil {
			return inspect.Request{}, fmt.Errorf("--size: %w", err)
		}
	}
	if f.batch < 1 {
		return inspect.Request{}, fmt.Errorf("--batch: %d is no number of images; give 1 or more", f.batch)
	}
	classes := network.Classes
	if ownClasses {
		classes = f.classes
	}
	if classes < 1 {
		return inspect.Request{}, fmt.Errorf("--classes: %d is no number of classes; give 1 or more", classes)
	}
	return inspect.Request{Network: network, Scale: scale, Classes: classes, Sizes: sizes}, nil
}

// parseSize reads 1024 or 640x1024, height first.
func parseSize(text string) (height, width int, err error) {
	first, second, both := strings.Cut(text, "x")
	if !both {
		second = first
	}
	height, errHeight := strconv.Atoi(first)
	width, errWidth := strconv.Atoi(second)
	if errHeight != nil || errWidth != nil || !inspect.ValidSize(height) || !inspect.ValidSize(width) {
		return 0, 0, fmt.Errorf("%q is no size; give multiples of %d px up to %d, such as 1024 or 640x1024", text, inspect.SizeStep, inspect.MaxSize)
	}
	return height, width, nil
}

// writeDrawing puts the drawing into a file, whole or not at all.
func writeDrawing(report *inspect.Report, file string) error {
	var out bytes.Buffer
	if err := report.WriteSVG(&out); err != nil {
		return err
	}
	if err := renameio.WriteFile(file, out.Bytes(), os.FileMode(0o644)); err != nil {
		return fmt.Errorf("--svg: %w; choose a file in a folder that can be written", err)
	}
	return nil
}

//go:build cuda

package contract_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/scenes"
)

// keypointRows turns the box rows of a data set into rows of 17 keypoints, on the
// diagonal of each box and visible in turn.
func keypointRows(t *testing.T, file string) {
	t.Helper()
	labels, err := filepath.Glob(filepath.Join(filepath.Dir(file), "labels", "*", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, labels)
	for _, name := range labels {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		var out strings.Builder
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			var class int
			var x, y, w, h float64
			if n, _ := fmt.Sscan(line, &class, &x, &y, &w, &h); n < 5 {
				continue
			}
			fmt.Fprintf(&out, "%d %.6f %.6f %.6f %.6f", class, x, y, w, h)
			for k := range 17 {
				at := float64(k)/16 - 0.5
				fmt.Fprintf(&out, " %.6f %.6f %d", x+at*w, y+at*h, k%3)
			}
			out.WriteString("\n")
		}
		require.NoError(t, os.WriteFile(name, []byte(out.String()), 0o644))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(text, "\nkpt_shape: [17, 3]\n"...), 0o644))
}

// Invariants I1, I4 and I9 on the device in every precision: fits of all tasks at
// test scale, natively, natively again and in every way of recording, leave the
// same checkpoint, losses and figures byte for byte. In FP16 the loss is scaled,
// and a step that overflows does not get to the optimizer. A step that was
// replayed is two launches, one forward and one backward, and one of the
// optimizer. Field cases SE-06 and SE-07: weights are cast inside of the
// recording, or the first update would not show in the next step.
func TestFitsOnTheDevice(t *testing.T) {
	for _, precision := range []string{"bf16", "fp16", "fp32"} {
		for _, task := range tasks {
			t.Run(precision+"/"+task, func(t *testing.T) {
				t.Parallel()
				source := task
				if task == "pose" {
					source = "detect" // scenes draw five keypoints, and the network has 17
				}
				file := drawn(t, source)
				if task == "pose" {
					keypointRows(t, file)
				}
				fit := folderFit{file: file, steps: 9, partial: 3, settings: func() *config.Settings {
					s, err := config.Defaults(task)
					require.NoError(t, err)
					s.Device, s.Trainer.Precision = "cuda", precision
					s.Model.Scale, s.Model.Classes = "t", len(scenes.Classes)
					if task == "pose" {
						s.Model.Keypoints = 17
					}
					s.Data.ImgSize, s.Data.BatchSize, s.Trainer.MaxEpochs, s.Optim.WarmupEpochs = imageSize, batchSize, 3, 1
					return s
				}}
				summary, native := fit.inEveryWay(t)
				for _, s := range summary.Recording.Stages {
					require.Zero(t, s.GraphLaunches, s.Name)
					require.Positive(t, s.KernelLaunches, s.Name)
				}
				recorded := fit.settings()
				record(recorded, full)
				replayed, got := fit.run(t, recorded, 0)
				requireSame(t, native, got, "full")
				require.Equal(t, summary.Overflows, replayed.Overflows)
				if precision != "fp16" {
					require.Zero(t, summary.Overflows)
				}
				launches(t, summary, replayed)
			})
		}
	}
}

// launches checks what the device counted of a native and of a replayed fit.
func launches(t *testing.T, native, replayed *run.Summary) {
	t.Helper()
	before := map[string]int64{}
	for _, s := range native.Recording.Stages {
		before[s.Name] = s.KernelLaunches
	}
	for _, s := range replayed.Recording.Stages {
		graphs := int64(2*s.Replayed - s.ForwardOnly)
		if strings.HasPrefix(s.Name, "optimizer") {
			graphs = int64(s.Replayed)
		} else {
			require.Less(t, s.KernelLaunches, before[s.Name], s.Name)
		}
		require.Equal(t, graphs, s.GraphLaunches, s.Name)
		t.Logf("%s: %d kernel launches natively; replayed %d, and %d graph launches", s.Name, before[s.Name], s.KernelLaunches, s.GraphLaunches)
	}
}

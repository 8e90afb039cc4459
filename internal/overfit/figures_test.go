package overfit_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/validate"
	"github.com/reprise-ml/reprise/runtime/host"
)

// detected is the score from which a row counts as a detection in the mean mask
// IoU, as in the confusions of a validation.
const detected = 0.25

// figures judge the weights of a checkpoint, as trained, on the scenes that they
// were trained on, by the end-to-end path: the average precisions of validation,
// recall, and for segment the mean mask IoU.
func figures(t *testing.T, r run.Request, weights string) []figure {
	t.Helper()
	dev := host.Open(host.Options{})
	defer func() { require.NoError(t, dev.Close()) }()
	report, err := validate.Run(context.Background(), dev, validate.Request{Weights: weights, Path: r.DataFile, Split: "train", Raw: true})
	require.NoError(t, err)
	list := []figure{{"recall at IoU 0.5", recall(report)}}
	for _, f := range report.Paths[0].Figures {
		if f.Name == "map" || f.Name == "map_50" || strings.HasSuffix(f.Name, "m_map") || f.Name == "oks_map" {
			list = append(list, figure{f.Name, f.Value})
		}
	}
	if r.Network.Task == "segment" {
		list = append(list, figure{"mean mask IoU", maskIoU(t, r, weights)})
	}
	return list
}

// recall is the part of the instances that a detection of their class and of a
// score of at least 0.25 meets with an overlap of at least 0.5, which is what
// the diagonal of the confusions counts.
func recall(report *validate.Report) float64 {
	met := 0
	for class := range report.Paths[0].Classes {
		met += report.Paths[0].Confusion[class][class]
	}
	return float64(met) / float64(report.Instances)
}

// keep writes all figures so far as a table, and draws the one that counts with
// its floor.
func keep(t *testing.T, dir, name string, least float64, history []point) {
	t.Helper()
	var table bytes.Buffer
	curve, floor := plotter.XYs{{}}, plotter.XYs{{X: 0, Y: least}, {X: steps, Y: least}}
	for _, p := range history {
		fmt.Fprintf(&table, "%d %v\n", p.step, p.figures)
		curve = append(curve, plotter.XY{X: float64(p.step), Y: p.value(name)})
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "figures.txt"), table.Bytes(), 0o644))
	picture := plot.New()
	picture.Title.Text, picture.X.Label.Text, picture.Y.Min, picture.Y.Max = name, "optimizer step", 0, 1
	line, marks, err := plotter.NewLinePoints(curve)
	require.NoError(t, err)
	goal, err := plotter.NewLine(floor)
	require.NoError(t, err)
	goal.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	picture.Add(plotter.NewGrid(), line, marks, goal)
	picture.Legend.Add("reached", line)
	picture.Legend.Add("floor", goal)
	require.NoError(t, picture.Save(6*vg.Inch, 4*vg.Inch, filepath.Join(dir, "figure.png")))
}

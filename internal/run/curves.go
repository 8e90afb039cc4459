package run

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/google/renameio/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// line is one curve over the epochs.
type line struct {
	name   string
	points plotter.XYs
}

// drawLoss draws the mean losses of training and validation.
func (r *recorder) drawLoss(file string) error {
	training := line{name: "training"}
	for _, record := range r.records {
		training.add(record.Epoch, float64(record.Loss))
	}
	lines := []line{training}
	for _, found := range r.validationLines(func(name string) bool { return name == "loss" }) {
		lines = append(lines, line{name: "validation", points: found.points})
	}
	return drawLines(file, "Mean loss of an epoch", lines)
}

// drawMetrics draws the average precisions of validation; there is no picture
// without any.
func (r *recorder) drawMetrics(file string) error {
	lines := r.validationLines(func(name string) bool { return strings.Contains(name, "mAP") })
	if len(lines) == 0 {
		return nil
	}
	return drawLines(file, "Validation with averaged weights", lines)
}

// validationLines are the curves of the validation figures that are chosen.
func (r *recorder) validationLines(chosen func(name string) bool) []line {
	var lines []line
	at := map[string]int{}
	for _, record := range r.records {
		for _, term := range record.Validation {
			if !chosen(term.Name) {
				continue
			}
			if _, known := at[term.Name]; !known {
				at[term.Name] = len(lines)
				lines = append(lines, line{name: term.Name})
			}
			lines[at[term.Name]].add(record.Epoch, float64(term.Value))
		}
	}
	return lines
}

// add appends a point; one that is not finite cannot be drawn and leaves a gap.
func (l *line) add(epoch int, value float64) {
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		l.points = append(l.points, plotter.XY{X: float64(epoch + 1), Y: value})
	}
}

func drawLines(file, title string, lines []line) error {
	figure := plot.New()
	figure.Title.Text, figure.X.Label.Text = title, "epoch"
	figure.Add(plotter.NewGrid())
	for i, l := range lines {
		if len(l.points) == 0 {
			continue
		}
		curve, marks, err := plotter.NewLinePoints(l.points)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		curve.Color, marks.Color = plotutil.Color(i), plotutil.Color(i)
		curve.Width, marks.Radius = vg.Points(1.5), vg.Points(2)
		figure.Add(curve, marks)
		figure.Legend.Add(l.name, curve)
	}
	figure.Legend.Top = true
	writer, err := figure.WriterTo(7*vg.Inch, 4.5*vg.Inch, "png")
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var encoded bytes.Buffer
	if _, err := writer.WriteTo(&encoded); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return renameio.WriteFile(file, encoded.Bytes(), 0o644)
}

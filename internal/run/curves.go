package run

import (
	"math"
	"strings"

	"gonum.org/v1/plot/plotter"

	"github.com/reprise-ml/reprise/internal/chart"
)

// drawLoss draws the mean losses of training and validation.
func (r *recorder) drawLoss(file string) error {
	training := chart.Line{Name: "training"}
	for _, record := range r.records {
		training.Points = append(training.Points, at(record.Epoch, float64(record.Loss)))
	}
	lines := []chart.Line{training}
	for _, found := range r.validationLines(func(name string) bool { return name == "loss" }) {
		lines = append(lines, chart.Line{Name: "validation", Points: found.Points})
	}
	return chart.Lines(file, "Mean loss of an epoch", epochs, chart.Axis{}, lines)
}

// drawMetrics draws the average precisions of validation; there is no picture
// without any.
func (r *recorder) drawMetrics(file string) error {
	lines := r.validationLines(func(name string) bool { return strings.Contains(name, "mAP") })
	if len(lines) == 0 {
		return nil
	}
	best := 0.1 // low values are drawn low
	for _, line := range lines {
		for _, p := range line.Points {
			best = math.Max(best, p.Y)
		}
	}
	return chart.Lines(file, "Validation with averaged weights", epochs, chart.Axis{Max: 1.05 * best}, lines)
}

// validationLines are the curves of the validation figures that are chosen.
func (r *recorder) validationLines(chosen func(name string) bool) []chart.Line {
	var lines []chart.Line
	place := map[string]int{}
	for _, record := range r.records {
		for _, term := range record.Validation {
			if !chosen(term.Name) {
				continue
			}
			if _, known := place[term.Name]; !known {
				place[term.Name] = len(lines)
				lines = append(lines, chart.Line{Name: term.Name})
			}
			line := &lines[place[term.Name]]
			line.Points = append(line.Points, at(record.Epoch, float64(term.Value)))
		}
	}
	return lines
}

// epochs is the axis of all curves of a fit.
var epochs = chart.Axis{Label: "epoch", Whole: true}

// at is a point of a curve; epochs are shown from 1.
func at(epoch int, value float64) plotter.XY { return plotter.XY{X: float64(epoch + 1), Y: value} }

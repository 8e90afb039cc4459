package validate

import (
	"fmt"

	"gonum.org/v1/plot/plotter"

	"github.com/reprise-ml/reprise/internal/chart"
	"github.com/reprise-ml/reprise/internal/eval/precision"
)

// curve is the precision-recall curve of a class at an overlap of 0.50.
type curve struct {
	name   string
	points []precision.CurvePoint
}

// drawCurves plots precision over recall, one line for every class.
func (p *Path) drawCurves(file string) error {
	var lines []chart.Line
	for _, c := range p.curves {
		line := chart.Line{Name: c.name}
		for i, point := range c.points {
			if i == 0 {
				line.Points = append(line.Points, plotter.XY{Y: point.Precision})
			}
			line.Points = append(line.Points, plotter.XY{X: point.Recall, Y: point.Precision})
		}
		lines = append(lines, line)
	}
	return chart.Lines(file, "Precision and recall of boxes at an overlap of 0.50, "+p.title,
		chart.Axis{Label: "recall", Max: 1}, chart.Axis{Label: "precision", Max: 1.02}, lines)
}

// drawConfusion plots which share of every annotated class (column) was detected
// as which class (row).
func (p *Path) drawConfusion(file string) error {
	var names []string
	for _, class := range p.Classes {
		names = append(names, class.Name)
	}
	title := fmt.Sprintf("Confusion from score %v and overlap %v, %s", confusionScore, confusionOverlap, p.title)
	return chart.Counts(file, title, "annotated", "detected", append(names, "background"), p.Confusion)
}

package validate

import (
	"bytes"
	"fmt"
	"image/color"

	"github.com/google/renameio/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/reprise-ml/reprise/internal/eval/precision"
)

// curve is the precision-recall curve of a class at an overlap of 0.50.
type curve struct {
	name   string
	points []precision.CurvePoint
}

// mostLegend is how many classes a legend names.
const mostLegend = 20

// drawCurves plots precision over recall, one line for every class.
func (p *Path) drawCurves(file string) error {
	figure := plot.New()
	figure.Title.Text = "Precision and recall of boxes at an overlap of 0.50, " + p.title
	figure.X.Label.Text, figure.Y.Label.Text = "recall", "precision"
	figure.X.Min, figure.X.Max, figure.Y.Min, figure.Y.Max = 0, 1, 0, 1.02
	colors := palette.Rainbow(max(len(p.curves), 2), palette.Red, palette.Magenta, 0.8, 0.75, 1).Colors()
	for i, c := range p.curves {
		points := plotter.XYs{{X: 0, Y: 1}}
		for _, point := range c.points {
			points = append(points, plotter.XY{X: point.Recall, Y: point.Precision})
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("%s: %w; validate again without plots", file, err)
		}
		line.Color, line.Width = colors[i], vg.Points(1.5)
		figure.Add(line)
		if len(p.curves) <= mostLegend {
			figure.Legend.Add(c.name, line)
		}
	}
	figure.Legend.Left, figure.Legend.Top = true, false
	figure.Add(plotter.NewGrid())
	return savePlot(figure, file)
}

// shares is a confusion whose columns are divided by their sums, as a grid.
type shares struct {
	counts [][]int
	sums   []int
}

func (s shares) Dims() (columns, rows int) { return len(s.counts), len(s.counts) }
func (s shares) X(column int) float64      { return float64(column) }
func (s shares) Y(row int) float64         { return float64(row) }
func (s shares) Z(column, row int) float64 {
	return float64(s.counts[row][column]) / float64(max(s.sums[column], 1))
}

// drawConfusion plots which share of every annotated class (column) was detected
// as which class (row).
func (p *Path) drawConfusion(file string) error {
	grid := shares{p.Confusion, make([]int, len(p.Confusion))}
	for _, row := range p.Confusion {
		for column, count := range row {
			grid.sums[column] += count
		}
	}
	figure := plot.New()
	figure.Title.Text = fmt.Sprintf("Confusion from score %v and overlap %v, %s", confusionScore, confusionOverlap, p.title)
	figure.X.Label.Text, figure.Y.Label.Text = "annotated", "detected"
	heat := plotter.NewHeatMap(grid, blues{})
	heat.Min, heat.Max = 0, 1
	figure.Add(heat)
	var ticks []plot.Tick
	for i := range grid.counts {
		name := "background"
		if i < len(p.Classes) {
			name = p.Classes[i].Name
		}
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
	}
	figure.X.Tick.Marker, figure.Y.Tick.Marker = plot.ConstantTicks(ticks), plot.ConstantTicks(ticks)
	figure.X.Tick.Label.Rotation = 0.9
	figure.X.Tick.Label.XAlign = -1
	labels, err := countLabels(grid)
	if err != nil {
		return fmt.Errorf("%s: %w; validate again without plots", file, err)
	}
	figure.Add(labels)
	return savePlot(figure, file)
}

// countLabels writes every count that is not 0 into its cell.
func countLabels(grid shares) (*plotter.Labels, error) {
	var points plotter.XYLabels
	for row, counts := range grid.counts {
		for column, count := range counts {
			if count > 0 {
				points.XYs = append(points.XYs, plotter.XY{X: float64(column), Y: float64(row)})
				points.Labels = append(points.Labels, fmt.Sprint(count))
			}
		}
	}
	labels, err := plotter.NewLabels(points)
	if err != nil {
		return nil, err
	}
	for i := range labels.TextStyle {
		labels.TextStyle[i].XAlign, labels.TextStyle[i].YAlign = -0.5, -0.5
		if cell := points.XYs[i]; grid.Z(int(cell.X), int(cell.Y)) > 0.5 {
			labels.TextStyle[i].Color = color.White
		}
	}
	return labels, nil
}

// blues is a palette from white to dark blue.
type blues struct{}

// Colors implements palette.Palette.
func (blues) Colors() []color.Color {
	const steps = 64
	colors := make([]color.Color, steps)
	for i := range colors {
		t := float64(i) / (steps - 1)
		colors[i] = color.RGBA{R: uint8(255 - 247*t), G: uint8(255 - 207*t), B: uint8(255 - 148*t), A: 255}
	}
	return colors
}

// savePlot writes a plot as PNG, whole or not at all.
func savePlot(figure *plot.Plot, file string) error {
	writer, err := figure.WriterTo(7*vg.Inch, 6*vg.Inch, "png")
	if err != nil {
		return fmt.Errorf("%s: %w; validate again without plots", file, err)
	}
	var encoded bytes.Buffer
	if _, err := writer.WriteTo(&encoded); err != nil {
		return fmt.Errorf("%s: %w; validate again without plots", file, err)
	}
	if err := renameio.WriteFile(file, encoded.Bytes(), 0o644); err != nil {
		return fmt.Errorf("%w; give a directory that can be written", err)
	}
	return nil
}

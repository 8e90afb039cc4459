package chart

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// mostNumbers is how many rows a table may have whose cells show their counts.
const mostNumbers = 40

// Counts draws a square table whose rows go up. A cell is as dark as its share of
// its column and shows its count. Names that have nothing in their row and in
// their column are left out.
func Counts(file, title, columnLabel, rowLabel string, names []string, counts [][]int) error {
	names, counts = occupied(names, counts)
	figure := newFigure(title, Axis{Label: columnLabel}, Axis{Label: rowLabel})
	grid := newShares(counts)
	heat := plotter.NewHeatMap(grid, blues{})
	heat.Min, heat.Max = 0, 1
	figure.Add(heat)
	var marks []plot.Tick
	for i, name := range names {
		marks = append(marks, plot.Tick{Value: float64(i), Label: name})
	}
	figure.X.Tick.Marker, figure.Y.Tick.Marker = plot.ConstantTicks(marks), plot.ConstantTicks(marks)
	figure.X.Tick.Label.Rotation = 0.9
	figure.X.Tick.Label.XAlign, figure.X.Tick.Label.YAlign = -1, -0.5
	if len(names) <= mostNumbers {
		numbers, err := cellNumbers(grid)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		figure.Add(numbers)
	}
	side := 3*vg.Inch + vg.Length(len(names))*vg.Points(22)
	return save(file, figure, nil, side+vg.Inch, side)
}

// occupied leaves out what was neither found nor there; the last name, that of the
// background, stays, so that the table is never empty.
func occupied(names []string, counts [][]int) ([]string, [][]int) {
	var kept []int
	for i := range names {
		some := i == len(names)-1
		for j := range names {
			some = some || counts[i][j] > 0 || counts[j][i] > 0
		}
		if some {
			kept = append(kept, i)
		}
	}
	var keptNames []string
	keptCounts := make([][]int, len(kept))
	for row, i := range kept {
		keptNames = append(keptNames, names[i])
		for _, j := range kept {
			keptCounts[row] = append(keptCounts[row], counts[i][j])
		}
	}
	return keptNames, keptCounts
}

// shares are counts divided by the sums of their columns, as a grid.
type shares struct {
	counts [][]int
	sums   []int
}

func newShares(counts [][]int) shares {
	s := shares{counts, make([]int, len(counts))}
	for _, row := range counts {
		for column, count := range row {
			s.sums[column] += count
		}
	}
	return s
}

func (s shares) Dims() (columns, rows int) { return len(s.counts), len(s.counts) }
func (s shares) X(column int) float64      { return float64(column) }
func (s shares) Y(row int) float64         { return float64(row) }
func (s shares) Z(column, row int) float64 {
	return float64(s.counts[row][column]) / float64(max(s.sums[column], 1))
}

// cellNumbers writes every count that is not 0 into its cell.
func cellNumbers(grid shares) (*plotter.Labels, error) {
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
		style := &labels.TextStyle[i]
		style.Font.Variant, style.Font.Size = "Sans", vg.Points(9)
		style.XAlign, style.YAlign = -0.5, -0.5
		if cell := points.XYs[i]; grid.Z(int(cell.X), int(cell.Y)) > 0.5 {
			style.Color = color.White
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

package chart

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Line is one curve. Points that are not finite are left out.
type Line struct {
	Name   string
	Points plotter.XYs
}

// mostNames is how many curves a legend names.
const mostNames = 30

// mostMarks is how many points of a curve are marked.
const mostMarks = 40

// Lines draws curves over a common axis.
func Lines(file, title string, x, y Axis, lines []Line) error {
	figure, legend := newFigure(title, x, y), plot.NewLegend()
	figure.Add(plotter.NewGrid())
	var xs, ys []float64
	for i, line := range lines {
		points := finite(line.Points)
		if len(points) == 0 {
			continue
		}
		for _, p := range points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
		curve, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		curve.Color, curve.Width = lineColor(i, len(lines)), vg.Points(1.5)
		marks.Color, marks.Radius, marks.Shape = curve.Color, vg.Points(2), plotutil.Shape(1)
		figure.Add(curve)
		if len(points) <= mostMarks {
			figure.Add(marks)
		}
		legend.Add(line.Name, curve)
	}
	bounds(&figure.X, x, xs)
	bounds(&figure.Y, y, ys)
	if len(lines) > mostNames {
		return save(file, figure, nil, 7*vg.Inch, 5*vg.Inch)
	}
	return save(file, figure, &legend, 7*vg.Inch, max(4.5*vg.Inch, vg.Length(len(lines))*vg.Points(15)+vg.Inch))
}

func finite(points plotter.XYs) plotter.XYs {
	var kept plotter.XYs
	for _, p := range points {
		if !math.IsNaN(p.X+p.Y) && !math.IsInf(p.X+p.Y, 0) {
			kept = append(kept, p)
		}
	}
	return kept
}

// lineColor tells a few curves clearly apart and many by their hue.
func lineColor(i, count int) color.Color {
	if count <= len(plotutil.DefaultColors) {
		return plotutil.Color(i)
	}
	return palette.Rainbow(count, palette.Red, palette.Magenta, 0.8, 0.75, 1).Colors()[i]
}

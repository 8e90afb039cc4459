// Package chart draws the figures of fits and validations: curves with a legend
// beside them, and tables of counts.
package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"

	"github.com/google/renameio/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Axis is one axis of a figure.
type Axis struct {
	Label string
	// Min and Max are the ends; where Max is not above Min the data decide.
	Min, Max float64
	// Whole leaves ticks between whole numbers out.
	Whole bool
}

// newFigure is an empty figure in the common style.
func newFigure(title string, x, y Axis) *plot.Plot {
	figure := plot.New()
	figure.Title.Text, figure.Title.Padding = title, vg.Points(8)
	figure.X.Label.Text, figure.Y.Label.Text = x.Label, y.Label
	figure.X.Tick.Marker, figure.Y.Tick.Marker = ticks{x.Whole}, ticks{y.Whole}
	figure.Title.TextStyle.Font.Size = vg.Points(13)
	for _, style := range []*draw.TextStyle{
		&figure.Title.TextStyle, &figure.Legend.TextStyle, &figure.X.Label.TextStyle,
		&figure.Y.Label.TextStyle, &figure.X.Tick.Label, &figure.Y.Tick.Label,
	} {
		style.Font.Variant = "Sans"
	}
	for _, axis := range []*plot.Axis{&figure.X, &figure.Y} {
		axis.Padding = vg.Points(4)
		axis.Label.Padding = vg.Points(4)
		axis.Tick.Label.Font.Size = vg.Points(9)
	}
	return figure
}

// ticks are whole multiples of 1, 2 or 5 times a power of ten, about eight on an
// axis, each with its number.
type ticks struct{ whole bool }

// Ticks implements plot.Ticker.
func (t ticks) Ticks(low, high float64) []plot.Tick {
	const wanted = 8
	scale := math.Pow(10, math.Floor(math.Log10((high-low)/wanted)))
	step := 10 * scale
	for _, factor := range []float64{1, 2, 5} {
		if (high-low)/(factor*scale) <= wanted {
			step = factor * scale
			break
		}
	}
	if t.whole {
		step = math.Max(step, 1)
	}
	var marks []plot.Tick
	for i := int(math.Ceil(low/step - 1e-9)); float64(i)*step <= high+1e-9*step; i++ {
		value := float64(i) * step
		marks = append(marks, plot.Tick{Value: value, Label: number(value, step)})
	}
	return marks
}

// number writes a tick with the digits that its step needs.
func number(value, step float64) string {
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	return fmt.Sprintf("%.*f", digits, value)
}

// save writes a figure of the given size as PNG, whole or not at all, with its
// legend right of it.
func save(file string, figure *plot.Plot, legend *plot.Legend, width, height vg.Length) error {
	const margin, dpi = 10, 120
	legendWidth := vg.Length(0)
	if legend != nil {
		legend.Top, legend.Left, legend.Padding = true, true, vg.Points(3)
		legend.TextStyle, legend.YOffs = figure.Legend.TextStyle, -vg.Points(30)
		legendWidth = legend.Rectangle(draw.Canvas{}).Size().X + vg.Points(14)
	}
	picture := vgimg.NewWith(vgimg.UseWH(width+legendWidth, height), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(color.White))
	whole := draw.Crop(draw.New(picture), margin, -margin, margin, -margin)
	figure.Draw(draw.Crop(whole, 0, -legendWidth, 0, 0))
	if legend != nil {
		legend.Draw(draw.Crop(whole, width-margin, 0, 0, 0))
	}
	var encoded bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: picture}).WriteTo(&encoded); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := renameio.WriteFile(file, encoded.Bytes(), 0o644); err != nil {
		return fmt.Errorf("%w; give a directory that can be written", err)
	}
	return nil
}

// bounds sets the ends of an axis: those asked for, else those of the values with
// a little room above.
func bounds(axis *plot.Axis, asked Axis, values []float64) {
	axis.Min, axis.Max = asked.Min, asked.Max
	if asked.Max > asked.Min || len(values) == 0 {
		return
	}
	axis.Min, axis.Max = slices.Min(values), slices.Max(values)
	if axis.Min >= axis.Max { // one value
		axis.Min, axis.Max = axis.Min-0.5, axis.Max+0.5
	}
}

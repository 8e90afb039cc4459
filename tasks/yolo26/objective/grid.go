package objective

import (
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Level is one feature map of the head: its size in cells and the side of a
// cell in input pixels.
type Level struct {
	Rows, Columns, Stride int
}

// Strides of the feature levels, in the order in which anchors are numbered.
var strides = [3]int{8, 16, 32}

// CanvasLevels returns the levels of a network input of height x width pixels.
// Both sides must be positive multiples of 32, the largest stride.
func CanvasLevels(height, width int) ([]Level, error) {
	const largest = 32
	if height <= 0 || width <= 0 || height%largest != 0 || width%largest != 0 {
		return nil, fmt.Errorf("input of %d x %d pixels: both sides must be positive multiples of %d; resize or pad the images", height, width, largest)
	}
	levels := make([]Level, len(strides))
	for i, stride := range strides {
		levels[i] = Level{Rows: height / stride, Columns: width / stride, Stride: stride}
	}
	return levels, nil
}

// Grid holds the anchor points of one image size, level after level and
// row-major inside a level (YOLO26 specification, objective section 0.2).
type Grid struct {
	Levels []Level
	// X, Y and Stride have one element per anchor: the cell centre and the side
	// of the cell, in pixels.
	X, Y, Stride []float64
}

// NewGrid places one anchor at the centre of every cell of every level.
func NewGrid(levels ...Level) *Grid {
	anchors := 0
	for _, level := range levels {
		anchors += level.Rows * level.Columns
	}
	grid := &Grid{
		Levels: levels,
		X:      make([]float64, 0, anchors),
		Y:      make([]float64, 0, anchors),
		Stride: make([]float64, 0, anchors),
	}
	for _, level := range levels {
		stride := float64(level.Stride)
		for row := range level.Rows {
			for column := range level.Columns {
				grid.X = append(grid.X, (float64(column)+0.5)*stride)
				grid.Y = append(grid.Y, (float64(row)+0.5)*stride)
				grid.Stride = append(grid.Stride, stride)
			}
		}
	}
	return grid
}

// Anchors is the number of anchors of one image.
func (g *Grid) Anchors() int { return len(g.X) }

// near visits, in ascending order, every anchor whose centre lies in window and
// possibly one that rounding puts there, so the visitor decides exactly. The
// cost is that of the cells visited, not of the grid.
func (g *Grid) near(window geometry.Box, visit func(anchor int)) {
	base := 0
	for _, level := range g.Levels {
		stride := float64(level.Stride)
		firstRow, endRow := cells(window.Y1, window.Y2, stride, level.Rows)
		firstColumn, endColumn := cells(window.X1, window.X2, stride, level.Columns)
		for row := firstRow; row < endRow; row++ {
			for column := firstColumn; column < endColumn; column++ {
				visit(base + row*level.Columns + column)
			}
		}
		base += level.Rows * level.Columns
	}
}

// cells returns the half-open range of the count cells along one axis whose
// centres lie in [low, high]. The quotients are rounded, but a centre divides
// exactly and rounding keeps the order, so no such cell is left out.
func cells(low, high, stride float64, count int) (first, end int) {
	// Bounding happens before the conversion: an integer cannot hold every float.
	bound := func(value float64) int {
		return int(math.Min(math.Max(value, 0), float64(count)))
	}
	return bound(math.Ceil(low/stride - 0.5)), bound(math.Floor(high/stride-0.5) + 1)
}

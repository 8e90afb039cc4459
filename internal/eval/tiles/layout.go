// Package tiles puts the detections of overlapping windows back together into
// whole images. Every point of an image belongs to the core of exactly one
// window, so what lies in an overlap is counted once and nothing is suppressed
// (YOLO26 specification, data and evaluation section 9.4).
package tiles

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Layout is the grid of windows that one image was cut into.
type Layout struct {
	windows []image.Rectangle
	cores   []geometry.Box
}

// NewLayout takes all windows of an image, in its pixels and in any order. They
// must form a grid: every column of windows meets every row of them once.
func NewLayout(windows []image.Rectangle) (*Layout, error) {
	if len(windows) == 0 {
		return nil, errors.New("an image without windows; give all windows that it was cut into")
	}
	columns, err := axis("x", windows, func(r image.Rectangle) interval { return interval{r.Min.X, r.Max.X} })
	if err != nil {
		return nil, err
	}
	rows, err := axis("y", windows, func(r image.Rectangle) interval { return interval{r.Min.Y, r.Max.Y} })
	if err != nil {
		return nil, err
	}
	seen := map[image.Rectangle]bool{}
	cores := make([]geometry.Box, len(windows))
	for i, window := range windows {
		if seen[window] {
			return nil, fmt.Errorf("window %v occurs twice; give every window of an image once", window)
		}
		seen[window] = true
		x, y := columns[interval{window.Min.X, window.Max.X}], rows[interval{window.Min.Y, window.Max.Y}]
		cores[i] = geometry.Box{X1: x[0], Y1: y[0], X2: x[1], Y2: y[1]}
	}
	if want := len(columns) * len(rows); len(windows) != want {
		return nil, fmt.Errorf("%d windows in %d columns and %d rows; a grid of them has %d", len(windows), len(columns), len(rows), want)
	}
	return &Layout{windows: slices.Clone(windows), cores: cores}, nil
}

// interval is the extent of a window along one axis.
type interval struct {
	start, end int
}

// axis gives every distinct interval of an axis its core, from the low bound to
// the high one: cores meet in the middle of the overlap of neighbours, and the
// outer bounds are infinite.
func axis(name string, windows []image.Rectangle, along func(image.Rectangle) interval) (map[interval][2]float64, error) {
	var distinct []interval
	for _, window := range windows {
		distinct = append(distinct, along(window))
	}
	slices.SortFunc(distinct, func(a, b interval) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	distinct = slices.Compact(distinct)
	cores := map[interval][2]float64{}
	low := math.Inf(-1)
	for i, current := range distinct {
		high := math.Inf(1)
		if i+1 < len(distinct) {
			next := distinct[i+1]
			if next.start <= current.start || next.end <= current.end || next.start > current.end {
				return nil, fmt.Errorf("windows from %s %d to %d and from %d to %d; neighbours must advance on both sides and leave no gap",
					name, current.start, current.end, next.start, next.end)
			}
			high = float64(next.start+current.end) / 2
		}
		cores[current] = [2]float64{low, high}
		low = high
	}
	return cores, nil
}

// Len is the number of windows.
func (l *Layout) Len() int { return len(l.windows) }

// Core is the part of the plane that a window owns. It may be infinite.
func (l *Layout) Core(window int) geometry.Box { return l.cores[window] }

// Owns reports whether a point of the image lies in the core of a window: on a
// low bound it does, on a high bound it does not.
func (l *Layout) Owns(window int, p geometry.Point) bool {
	core := l.cores[window]
	return p.X >= core.X1 && p.X < core.X2 && p.Y >= core.Y1 && p.Y < core.Y2
}

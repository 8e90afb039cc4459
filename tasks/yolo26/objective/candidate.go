package objective

import (
	"github.com/reprise-ml/reprise/internal/geometry"
)

// candidates visits, in ascending order, the anchors whose centre lies in the
// surrogate of an object, borders included. An oriented object is tested by its
// rotated box alone (YOLO26 specification, objective section 1, stages 1 and 2).
func (a Assigner) candidates(grid *Grid, truth *GroundTruth, row int, visit func(anchor int)) {
	if truth.Rotated != nil {
		a.rotatedCandidates(grid, truth.Rotated[row], visit)
		return
	}
	surrogate := a.surrogate(truth.Boxes[row])
	grid.near(surrogate, func(anchor int) {
		x, y := grid.X[anchor], grid.Y[anchor]
		if surrogate.X1 <= x && x <= surrogate.X2 && surrogate.Y1 <= y && y <= surrogate.Y2 {
			visit(anchor)
		}
	})
}

func (a Assigner) rotatedCandidates(grid *Grid, box geometry.RotatedBox, visit func(anchor int)) {
	surrogate := a.rotatedSurrogate(box)
	// The envelope is rounded, so it is widened before it bounds the search;
	// the exact test decides.
	window := surrogate.Envelope()
	window.X1, window.Y1, window.X2, window.Y2 = window.X1-1, window.Y1-1, window.X2+1, window.Y2+1
	grid.near(window, func(anchor int) {
		if surrogate.Contains(grid.X[anchor], grid.Y[anchor]) {
			visit(anchor)
		}
	})
}

// surrogate keeps the centre of a box and inflates each side that is too small
// to hold a cell centre for certain.
func (a Assigner) surrogate(box geometry.Box) geometry.Box {
	if box.Width() < a.SmallSide {
		center := (box.X1 + box.X2) / 2
		box.X1, box.X2 = center-a.InflatedSide/2, center+a.InflatedSide/2
	}
	if box.Height() < a.SmallSide {
		center := (box.Y1 + box.Y2) / 2
		box.Y1, box.Y2 = center-a.InflatedSide/2, center+a.InflatedSide/2
	}
	return box
}

// rotatedSurrogate does the same to the sides of a rectangle. Inflation may
// turn the short side into the long one, hence the canonical form.
func (a Assigner) rotatedSurrogate(box geometry.RotatedBox) geometry.RotatedBox {
	if box.Width < a.SmallSide {
		box.Width = a.InflatedSide
	}
	if box.Height < a.SmallSide {
		box.Height = a.InflatedSide
	}
	return box.Canonical()
}

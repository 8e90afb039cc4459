package data

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// borderTolerance is how far a normalised coordinate may leave [0,1] and still be
// taken for a rounding error of the tool that wrote it: it is clamped within,
// and refused beyond.
const borderTolerance = 1e-3

// orientedReach bounds the corners of oriented boxes to [-1,2], one image away
// from the image. A box that sticks out is kept as it is; what lies further is
// not a normalised coordinate but a pixel.
const orientedReach = 1

// RowFormat is the variant of a YOLO text row that a data set is declared to
// have. It is never guessed from the rows (data and evaluation specification,
// section 2.3).
type RowFormat interface {
	// Name is the variant in error messages, such as "box".
	Name() string
	// Layout lists the fields in order, such as "class cx cy w h".
	Layout() string

	// accepts reports whether a row of that many fields, the class included,
	// can be of this variant.
	accepts(fields int) bool
	// instance reads the normalised values after the class, for an image of
	// width x height pixels. The problem is empty when they are good.
	instance(values []float64, width, height float64) (found instance, problem string)
}

// BoxRows are axis-aligned boxes: class cx cy w h.
var BoxRows RowFormat = boxRows{}

// OrientedRows are oriented boxes by four corners: class x1 y1 x2 y2 x3 y3 x4 y4.
var OrientedRows RowFormat = orientedRows{}

// instance is what one row adds to a target besides its label.
type instance struct {
	box     geometry.Box
	rotated *geometry.RotatedBox

	polygon    []geometry.Point
	keypoints  []geometry.Point
	visibility []uint8
}

func (t *Target) add(label int, found instance) {
	t.Labels = append(t.Labels, label)
	t.Boxes = append(t.Boxes, found.box)
	if found.rotated != nil {
		t.Rotated = append(t.Rotated, *found.rotated)
	}
	if found.polygon != nil {
		t.Polygons = append(t.Polygons, found.polygon)
	}
	if found.keypoints != nil {
		t.Keypoints = append(t.Keypoints, found.keypoints)
		t.Visibility = append(t.Visibility, found.visibility)
	}
}

// intoUnit clamps a normalised coordinate into [0,1] when it leaves it by no
// more than a rounding error. The problem is empty when it did.
func intoUnit(value *float64) (problem string) {
	if *value < -borderTolerance || *value > 1+borderTolerance {
		return fmt.Sprintf("coordinate %v is outside 0..1", *value)
	}
	*value = min(max(*value, 0), 1)
	return ""
}

type boxRows struct{}

func (boxRows) Name() string            { return "box" }
func (boxRows) Layout() string          { return "class cx cy w h" }
func (boxRows) accepts(fields int) bool { return fields == 5 }

func (boxRows) instance(values []float64, width, height float64) (instance, string) {
	var v [4]float64
	copy(v[:], values)
	for i := range v {
		if problem := intoUnit(&v[i]); problem != "" {
			return instance{}, problem
		}
	}
	centerX, centerY, halfWidth, halfHeight := v[0]*width, v[1]*height, v[2]*width/2, v[3]*height/2
	box := geometry.Box{
		X1: centerX - halfWidth, Y1: centerY - halfHeight,
		X2: centerX + halfWidth, Y2: centerY + halfHeight,
	}
	return instance{box: box.Clamp(width, height)}, ""
}

type orientedRows struct{}

func (orientedRows) Name() string            { return "oriented" }
func (orientedRows) Layout() string          { return "class x1 y1 x2 y2 x3 y3 x4 y4" }
func (orientedRows) accepts(fields int) bool { return fields == 9 }

func (orientedRows) instance(values []float64, width, height float64) (instance, string) {
	var corners [4]geometry.Point
	for i := range corners {
		x, y := values[2*i], values[2*i+1]
		for _, value := range [2]float64{x, y} {
			if value < -orientedReach || value > 1+orientedReach {
				return instance{}, fmt.Sprintf("corner coordinate %v is more than one image away from 0..1", value)
			}
		}
		corners[i] = geometry.Point{X: x * width, Y: y * height}
	}
	rotated := geometry.FitQuadrilateral(corners)
	return instance{box: geometry.Envelope(corners[:]), rotated: &rotated}, ""
}

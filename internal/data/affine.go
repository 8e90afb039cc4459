package data

import (
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Affine holds the half-ranges of the random affine map (data and evaluation
// specification, section 6.3).
type Affine struct {
	// Degrees and Shear are in degrees.
	Degrees, Shear float64
	// Scale is about 1, so that 0.5 draws from 0.5 to 1.5.
	Scale float64
	// Translate is a fraction of the canvas's sides.
	Translate float64
}

func (a Affine) validate() error {
	for _, field := range []struct {
		name        string
		value, most float64
	}{{"degrees", a.Degrees, 180}, {"shear", a.Shear, 40}, {"scale", a.Scale, 1}, {"translate", a.Translate, 1}} {
		if !(field.value >= 0 && field.value <= field.most) {
			return fmt.Errorf("affine: %s %v is outside 0..%v; the recipe uses 0 degrees, 0 shear, 0.5 scale and 0.1 translate",
				field.name, field.value, field.most)
		}
	}
	return nil
}

// leastScale keeps a map invertible whatever is drawn.
const leastScale = 1e-3

// draw draws a map of a canvas of width x height pixels: angle, shear along x and
// y, scale and translation along x and y, in this order.
func (a Affine) draw(draw *Draw, width, height int) transform {
	angle := draw.uniform(-a.Degrees, a.Degrees)
	shearX := draw.uniform(-a.Shear, a.Shear)
	shearY := draw.uniform(-a.Shear, a.Shear)
	scale := math.Max(draw.uniform(1-a.Scale, 1+a.Scale), leastScale)
	moveX := draw.uniform(-a.Translate, a.Translate) * float64(width)
	moveY := draw.uniform(-a.Translate, a.Translate) * float64(height)
	return affineAbout(width, height, angle, shearX, shearY, scale, geometry.Point{X: moveX, Y: moveY})
}

// transform is the map x' = xx*x + xy*y + x0, y' = yx*x + yy*y + y0.
type transform struct {
	xx, xy, x0, yx, yy, y0 float64
}

// affineAbout scales, rotates and shears about the middle of the pixel grid,
// ((width-1)/2, (height-1)/2), and moves. Angles are in degrees.
func affineAbout(width, height int, angle, shearX, shearY, scale float64, move geometry.Point) transform {
	sin, cos := math.Sincos(angle * math.Pi / 180)
	tanX, tanY := math.Tan(shearX*math.Pi/180), math.Tan(shearY*math.Pi/180)
	t := transform{
		xx: scale * (cos - float64(sin*tanY)), xy: scale * (float64(cos*tanX) - sin),
		yx: scale * (sin + float64(cos*tanY)), yy: scale * (float64(sin*tanX) + cos),
	}
	centerX, centerY := float64(width-1)/2, float64(height-1)/2
	t.x0 = centerX + move.X - float64(t.xx*centerX) - float64(t.xy*centerY)
	t.y0 = centerY + move.Y - float64(t.yx*centerX) - float64(t.yy*centerY)
	return t
}

// point maps a point. The conversions forbid fused multiply-adds, which would
// make the result depend on the processor.
func (t transform) point(p geometry.Point) geometry.Point {
	return geometry.Point{
		X: float64(t.xx*p.X) + float64(t.xy*p.Y) + t.x0,
		Y: float64(t.yx*p.X) + float64(t.yy*p.Y) + t.y0,
	}
}

// then is the map that applies t first and the letterbox after it.
func (t transform) then(l Letterbox) transform {
	r := l.Ratio
	return transform{
		r * t.xx, r * t.xy, float64(r*t.x0) + float64(l.PadLeft),
		r * t.yx, r * t.yy, float64(r*t.y0) + float64(l.PadTop),
	}
}

// inverse is the map back. The map must have been made by affineAbout, whose
// scale is positive and whose shears stay below a right angle together.
func (t transform) inverse() transform {
	determinant := float64(t.xx*t.yy) - float64(t.xy*t.yx)
	inverted := transform{
		xx: t.yy / determinant, xy: -t.xy / determinant,
		yx: -t.yx / determinant, yy: t.xx / determinant,
	}
	inverted.x0 = -float64(inverted.xx*t.x0) - float64(inverted.xy*t.y0)
	inverted.y0 = -float64(inverted.yx*t.x0) - float64(inverted.yy*t.y0)
	return inverted
}

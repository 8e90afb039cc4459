package data

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// GeometricBase is the base of training: a mosaic of four images or one image,
// moved by a random affine map and letterboxed, in one resampling (data and
// evaluation specification, sections 6.1 to 6.4).
type GeometricBase struct {
	// Size is the side of the canvas in pixels.
	Size int
	// Mosaic is the probability of a mosaic, 1 in the YOLO26 recipe.
	Mosaic float64
	// CloseEpoch is the first epoch without mosaics: the last ones of a fit
	// learn from images as they are.
	CloseEpoch int
	// Affine holds the half-ranges of the map.
	Affine Affine
}

// Name is "geometry".
func (b GeometricBase) Name() string { return "geometry" }

// Validate refuses a size that is not positive and settings out of range.
func (b GeometricBase) Validate() error {
	if b.Size <= 0 {
		return fmt.Errorf("geometry: size %d is not positive; give the side of the input in pixels", b.Size)
	}
	if !(b.Mosaic >= 0 && b.Mosaic <= 1) {
		return fmt.Errorf("geometry: mosaic probability %v is outside 0..1; the recipe uses 1", b.Mosaic)
	}
	return b.Affine.validate()
}

// Sample draws whether a mosaic is made; then, for a mosaic, three more images
// and the centre; then the affine map.
func (b GeometricBase) Sample(draw *Draw, index int) (Sample, error) {
	probability := b.Mosaic
	if draw.Epoch >= b.CloseEpoch {
		probability = 0
	}
	var source canvas
	var target Target
	var err error
	if draw.Random.Float64() < probability {
		source, target, err = b.mosaic(draw, index)
	} else {
		var native Native
		native, err = draw.Source.Native(index)
		if err == nil {
			source, target = whole(native.Raster), native.Target
		}
	}
	if err != nil {
		return Sample{}, err
	}
	moved := b.Affine.draw(draw, source.width, source.height)
	if target, err = target.mapped(moved.point, true).clipped(source.width, source.height, true); err != nil {
		return Sample{}, err
	}
	letterbox := NewLetterbox(source.width, source.height, b.Size, b.Size)
	image := source.warp(moved.then(letterbox).inverse(), b.Size, b.Size)
	return Sample{Image: image, Target: letterbox.Target(target)}, nil
}

func (b GeometricBase) mosaic(draw *Draw, index int) (canvas, Target, error) {
	indices := [4]int{index}
	for i := range indices[1:] {
		indices[i+1] = draw.Random.IntN(draw.Source.Len())
	}
	size := float64(b.Size)
	centerX, centerY := int(draw.uniform(0.5*size, 1.5*size)), int(draw.uniform(0.5*size, 1.5*size))
	mosaic := canvas{width: 2 * b.Size, height: 2 * b.Size}
	var targets [4]Target
	for i, chosen := range indices {
		native, err := draw.Source.Native(chosen)
		if err != nil {
			return canvas{}, Target{}, err
		}
		place, offset := quadrant(native.Raster, i, centerX, centerY, 2*b.Size)
		mosaic.images = append(mosaic.images, place)
		shifted := native.Target.mapped(func(p geometry.Point) geometry.Point {
			return geometry.Point{X: p.X + offset.X, Y: p.Y + offset.Y}
		}, false)
		if targets[i], err = shifted.clipped(mosaic.width, mosaic.height, false); err != nil {
			return canvas{}, Target{}, err
		}
	}
	joined, err := Concat(targets[:]...)
	return mosaic, joined, err
}

// quadrant places image i of a mosaic (0 top left, 1 top right, 2 bottom left,
// 3 bottom right) with a corner on the centre, cut to its quadrant of a canvas
// of side pixels. The offset maps its coordinates to the canvas.
func quadrant(raster *Raster, i, centerX, centerY, side int) (placed, geometry.Point) {
	left, top := centerX, centerY
	area := placed{raster: raster, x0: centerX, y0: centerY, x1: side, y1: side}
	if i%2 == 0 {
		left, area.x0, area.x1 = centerX-raster.Width, 0, centerX
	}
	if i < 2 {
		top, area.y0, area.y1 = centerY-raster.Height, 0, centerY
	}
	area.x0, area.y0 = max(area.x0, left), max(area.y0, top)
	area.x1, area.y1 = min(area.x1, left+raster.Width), min(area.y1, top+raster.Height)
	area.fromX, area.fromY = area.x0-left, area.y0-top
	return area, geometry.Point{X: float64(left), Y: float64(top)}
}

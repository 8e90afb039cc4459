// Package scenes draws the project's own synthetic pictures: aerial scenes of
// small aircraft, ships, vehicles and courts at any angle over textured ground,
// with exact boxes, oriented boxes, outlines and keypoints. They stand in for a real data set in tests,
// examples and benchmarks, so that none has to be shipped or downloaded.
//
// The same options give the same bytes on one processor architecture.
package scenes

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Object is one drawn instance.
type Object struct {
	// Class indexes Classes.
	Class int
	// Box is the tight canonical rotated box in pixels. It may stick out of the
	// picture; its centre does not.
	Box geometry.RotatedBox
	// Outline is the border of everything drawn of the object, in pixels, cut
	// to the picture.
	Outline []geometry.Point
	// Keypoints are those of KeypointNames, for planes only; they may lie
	// outside the picture.
	Keypoints []geometry.Point
}

// Scene is a picture and the objects on it.
type Scene struct {
	Image   *image.RGBA
	Objects []Object
}

// Options say what scenes look like.
type Options struct {
	// Size is the side of the square picture in pixels, at least 32.
	Size int
	// Objects is the largest number of objects on a picture, at least 1. About
	// one picture in eight has none.
	Objects int
	// Seed decides everything that is drawn.
	Seed uint64
	// PlanesOnly draws no other class.
	PlanesOnly bool
}

// classes is how many of the shapes are drawn.
func (o Options) classes() int {
	if o.PlanesOnly {
		return 1
	}
	return len(shapes)
}

// validate names the first option out of its range.
func (o Options) validate() error {
	if o.Size < 32 {
		return fmt.Errorf("scenes: size %d; give at least 32 pixels", o.Size)
	}
	if o.Objects < 1 {
		return fmt.Errorf("scenes: %d objects; give at least 1", o.Objects)
	}
	return nil
}

// Draw draws scene number index. Scenes of different numbers share no draws, so
// the result does not depend on which others were drawn.
func Draw(options Options, index int) (*Scene, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(options.Seed, uint64(index)))
	scene := &Scene{Image: ground(random, options.Size)}
	if random.IntN(8) == 0 {
		return scene, nil
	}
	wanted := 1 + random.IntN(options.Objects)
	var taken []geometry.RotatedBox
	for range wanted {
		placement, ok := place(random, options, taken)
		if !ok {
			break
		}
		taken = append(taken, placement.box())
		placement.draw(scene.Image, random)
		scene.Objects = append(scene.Objects, placement.object(options.Size))
	}
	return scene, nil
}

// placement is a shape on the ground before it is drawn. Its heading tells nose
// from tail, which the label's box cannot.
type placement struct {
	class            int
	centerX, centerY float64
	length, width    float64
	heading          float64
}

func (p placement) box() geometry.RotatedBox {
	return geometry.RotatedBox{
		CenterX: p.centerX, CenterY: p.centerY, Width: p.length, Height: p.width, Angle: p.heading,
	}.Canonical()
}

// object is the label of the placement on a picture of size pixels.
func (p placement) object(size int) Object {
	shape := shapes[p.class]
	picture := geometry.Box{X2: float64(size), Y2: float64(size)}
	object := Object{Class: p.class, Box: p.box(), Outline: geometry.ClipToBox(p.points(shape.outline, 0), picture)}
	if shape.keypoints != nil {
		object.Keypoints = p.points(shape.keypoints, 0)
	}
	return object
}

// place finds room for one more object, apart from the taken boxes. It gives up
// after a while: the picture is full.
func place(random *rand.Rand, options Options, taken []geometry.RotatedBox) (placement, bool) {
	const attempts = 40
	side := float64(options.Size)
	for range attempts {
		class := random.IntN(options.classes())
		shape := shapes[class]
		// Small pictures need a floor, or a vehicle would be a few pixels.
		length := max(side*(shape.shortest+(shape.longest-shape.shortest)*random.Float64()), 9)
		found := placement{
			class:   class,
			centerX: side * random.Float64(), centerY: side * random.Float64(),
			length: length, width: length * shape.aspect * (0.92 + 0.16*random.Float64()),
			heading: 2 * math.Pi * random.Float64(),
		}
		if apart(found.box(), taken) {
			return found, true
		}
	}
	return placement{}, false
}

// apart reports whether a margin stays free between a box and all taken ones.
func apart(box geometry.RotatedBox, taken []geometry.RotatedBox) bool {
	box.Width, box.Height = box.Width*1.1+2, box.Height*1.1+2
	for _, other := range taken {
		if geometry.RotatedIntersection(box, other) > 0 {
			return false
		}
	}
	return true
}

package scenes

import (
	"image/color"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Classes are the class names by dense class index.
var Classes = classNames()

// shape is one class of object in its own frame: x runs from -0.5 at the tail to
// 0.5 at the nose, y over the width from -0.5 to 0.5. The parts together touch
// all four sides, so that the frame is the tight box.
type shape struct {
	name string
	// shortest and longest bound the length as a fraction of the picture's
	// side; aspect is the mean width over the length.
	shortest, longest, aspect float64
	// paints are the colours that a body may have.
	paints []color.RGBA
	parts  []part
	// outline is the border of all parts together.
	outline []geometry.Point
	// keypoints are the places of KeypointNames, nil for classes without.
	keypoints []geometry.Point
}

// part is a convex polygon of a shape in the body's paint, darker for a shade
// below 1 and lighter above.
type part struct {
	shade  float64
	points []geometry.Point
}

// KeypointNames name the keypoints of planes in their order, and KeypointFlip
// gives for each the one whose place it takes in a mirrored picture.
var (
	KeypointNames = []string{"nose", "left_wing", "right_wing", "left_tail", "right_tail"}
	KeypointFlip  = []int{0, 2, 1, 4, 3}
)

var shapes = []shape{
	{
		name: "plane", shortest: 0.12, longest: 0.28, aspect: 0.86,
		outline:   planeOutline(),
		keypoints: []geometry.Point{{X: 0.5, Y: 0}, {X: -0.135, Y: -0.5}, {X: -0.135, Y: 0.5}, {X: -0.47, Y: -0.17}, {X: -0.47, Y: 0.17}},
		paints:    []color.RGBA{{236, 238, 240, 255}, {205, 212, 220, 255}, {244, 232, 205, 255}},
		parts: []part{
			{0.86, []geometry.Point{{X: 0.14, Y: 0}, {X: -0.02, Y: 0}, {X: -0.18, Y: 0.5}, {X: -0.09, Y: 0.5}}},
			{0.86, []geometry.Point{{X: 0.14, Y: 0}, {X: -0.02, Y: 0}, {X: -0.18, Y: -0.5}, {X: -0.09, Y: -0.5}}},
			{0.8, []geometry.Point{{X: -0.36, Y: 0}, {X: -0.5, Y: 0.17}, {X: -0.44, Y: 0.17}, {X: -0.3, Y: 0}}},
			{0.8, []geometry.Point{{X: -0.36, Y: 0}, {X: -0.5, Y: -0.17}, {X: -0.44, Y: -0.17}, {X: -0.3, Y: 0}}},
			{1, []geometry.Point{{X: 0.5, Y: 0}, {X: 0.4, Y: 0.055}, {X: -0.42, Y: 0.04}, {X: -0.48, Y: 0}, {X: -0.42, Y: -0.04}, {X: 0.4, Y: -0.055}}},
			{0.35, []geometry.Point{{X: 0.44, Y: 0.03}, {X: 0.39, Y: 0.035}, {X: 0.39, Y: -0.035}, {X: 0.44, Y: -0.03}}},
			{0.55, []geometry.Point{{X: 0.1, Y: 0.2}, {X: -0.02, Y: 0.2}, {X: -0.02, Y: 0.25}, {X: 0.1, Y: 0.25}}},
			{0.55, []geometry.Point{{X: 0.1, Y: -0.2}, {X: -0.02, Y: -0.2}, {X: -0.02, Y: -0.25}, {X: 0.1, Y: -0.25}}},
		},
	},
	{
		name: "ship", shortest: 0.14, longest: 0.3, aspect: 0.28,
		outline: shipHull,
		paints:  []color.RGBA{{178, 74, 58, 255}, {62, 82, 110, 255}, {120, 126, 130, 255}},
		parts: []part{
			{1, shipHull},
			{1.25, []geometry.Point{{X: 0.36, Y: 0}, {X: 0.22, Y: 0.3}, {X: -0.4, Y: 0.3}, {X: -0.4, Y: -0.3}, {X: 0.22, Y: -0.3}}},
			{1.75, []geometry.Point{{X: -0.22, Y: 0.22}, {X: -0.36, Y: 0.22}, {X: -0.36, Y: -0.22}, {X: -0.22, Y: -0.22}}},
		},
	},
	{
		name: "vehicle", shortest: 0.06, longest: 0.13, aspect: 0.48,
		outline: vehicleBody,
		paints:  []color.RGBA{{208, 54, 48, 255}, {52, 98, 190, 255}, {240, 200, 60, 255}, {232, 232, 232, 255}, {40, 42, 48, 255}},
		parts: []part{
			{1, vehicleBody},
			{0.3, []geometry.Point{{X: 0.24, Y: 0.4}, {X: 0.12, Y: 0.36}, {X: 0.12, Y: -0.36}, {X: 0.24, Y: -0.4}}},
			{0.4, []geometry.Point{{X: -0.3, Y: 0.36}, {X: -0.38, Y: 0.38}, {X: -0.38, Y: -0.38}, {X: -0.3, Y: -0.36}}},
		},
	},
	{
		name: "court", shortest: 0.16, longest: 0.28, aspect: 0.56,
		outline: courtGround,
		paints:  []color.RGBA{{60, 120, 150, 255}, {170, 92, 66, 255}, {70, 132, 84, 255}},
		parts: []part{
			{1, courtGround},
			{1.85, []geometry.Point{{X: -0.42, Y: -0.4}, {X: 0.42, Y: -0.4}, {X: 0.42, Y: 0.4}, {X: -0.42, Y: 0.4}}},
			{1.08, []geometry.Point{{X: -0.39, Y: -0.35}, {X: 0.39, Y: -0.35}, {X: 0.39, Y: 0.35}, {X: -0.39, Y: 0.35}}},
			{1.85, []geometry.Point{{X: -0.015, Y: -0.4}, {X: 0.015, Y: -0.4}, {X: 0.015, Y: 0.4}, {X: -0.015, Y: 0.4}}},
		},
	},
}

func classNames() []string {
	names := make([]string, len(shapes))
	for i, shape := range shapes {
		names[i] = shape.name
	}
	return names
}

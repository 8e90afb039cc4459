package scenes

import (
	"slices"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Outlines of the shapes whose first part holds all others.
var (
	shipHull = []geometry.Point{
		{X: 0.5, Y: 0}, {X: 0.26, Y: 0.46}, {X: 0, Y: 0.5}, {X: -0.46, Y: 0.44}, {X: -0.5, Y: 0.3},
		{X: -0.5, Y: -0.3}, {X: -0.46, Y: -0.44}, {X: 0, Y: -0.5}, {X: 0.26, Y: -0.46},
	}
	vehicleBody = []geometry.Point{
		{X: 0.5, Y: 0.3}, {X: 0.44, Y: 0.5}, {X: -0.46, Y: 0.5}, {X: -0.5, Y: 0.4},
		{X: -0.5, Y: -0.4}, {X: -0.46, Y: -0.5}, {X: 0.44, Y: -0.5}, {X: 0.5, Y: -0.3},
	}
	courtGround = []geometry.Point{{X: -0.5, Y: -0.5}, {X: 0.5, Y: -0.5}, {X: 0.5, Y: 0.5}, {X: -0.5, Y: 0.5}}
)

// planeOutline is the border of fuselage, wings, engines and tail together: one
// side from the nose to the end, with the points where the parts meet, and its
// mirror image.
func planeOutline() []geometry.Point {
	side := []geometry.Point{
		{X: 0.5, Y: 0}, {X: 0.4, Y: 0.055},
		{X: 0.1171, Y: 0.0498}, {X: 0.048, Y: 0.2}, {X: 0.1, Y: 0.2}, {X: 0.1, Y: 0.25}, {X: 0.025, Y: 0.25},
		{X: -0.09, Y: 0.5}, {X: -0.18, Y: 0.5}, {X: -0.0351, Y: 0.047},
		{X: -0.3342, Y: 0.0416}, {X: -0.44, Y: 0.17}, {X: -0.5, Y: 0.17}, {X: -0.3934, Y: 0.0405},
		{X: -0.42, Y: 0.04}, {X: -0.48, Y: 0},
	}
	outline := slices.Clone(side)
	for i := len(side) - 2; i > 0; i-- {
		outline = append(outline, geometry.Point{X: side[i].X, Y: -side[i].Y})
	}
	return outline
}

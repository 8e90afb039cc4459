package data

import (
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// KeypointShape is how many keypoints an instance has and how many numbers
// describe each: x y, or x y and a visibility.
type KeypointShape struct {
	Count, Dimensions int
}

// KeypointSchema says what the keypoints of an instance are. Every part is empty
// where the data set does not say it.
type KeypointSchema struct {
	// Names are the names by index.
	Names []string
	// FlipOrder is the flip_idx key of data.yaml or follows from names with a
	// side, see FlipStep.KeypointOrder.
	FlipOrder []int
	// Skeleton joins keypoints by pairs of their indices.
	Skeleton [][2]int
}

// KeypointRows are boxes followed by keypoints: class cx cy w h and then, for
// every keypoint, x y, or x y v with a visibility of 0, 1 or 2. Without a
// visibility column every keypoint counts as visible. Coordinates of a keypoint
// that is not labelled (v = 0) have no meaning and no range.
func KeypointRows(shape KeypointShape) RowFormat { return keypointRows{shape} }

type keypointRows struct {
	shape KeypointShape
}

func (r keypointRows) Name() string { return "keypoint" }

func (r keypointRows) Layout() string {
	point := "x y"
	if r.shape.Dimensions == 3 {
		point = "x y v"
	}
	return fmt.Sprintf("class cx cy w h and %d times %s, %d fields", r.shape.Count, point, r.fields())
}

func (r keypointRows) fields() int             { return 5 + r.shape.Count*r.shape.Dimensions }
func (r keypointRows) accepts(fields int) bool { return fields == r.fields() }

func (r keypointRows) instance(values []float64, width, height float64) (instance, string) {
	found, problem := boxRows{}.instance(values[:4], width, height)
	if problem != "" {
		return found, problem
	}
	found.keypoints = make([]geometry.Point, r.shape.Count)
	found.visibility = make([]uint8, r.shape.Count)
	for i := range found.keypoints {
		point := values[4+i*r.shape.Dimensions:][:r.shape.Dimensions]
		visibility := 2.0
		if r.shape.Dimensions == 3 {
			visibility = point[2]
		}
		if visibility != math.Trunc(visibility) || visibility < 0 || visibility > 2 {
			return instance{}, fmt.Sprintf("visibility %v of keypoint %d is not 0, 1 or 2", visibility, i)
		}
		x, y := point[0], point[1]
		if visibility > 0 {
			for _, value := range [2]*float64{&x, &y} {
				if problem := intoUnit(value); problem != "" {
					return instance{}, fmt.Sprintf("%s in keypoint %d", problem, i)
				}
			}
		}
		found.keypoints[i] = geometry.Point{X: x * width, Y: y * height}
		found.visibility[i] = uint8(visibility)
	}
	return found, ""
}

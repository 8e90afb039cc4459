package golden

import (
	"fmt"
	"math"
	"slices"
)

// Target lists the objects of one image, in pixels. All lengths are exact in
// float32. Boxes are (x1, y1, x2, y2). Only the fields of the task are set.
type Target struct {
	Labels     []int          `json:"labels"`
	Boxes      [][4]float64   `json:"boxes"`
	RBoxes     [][5]float64   `json:"rboxes,omitempty"`    // obb: cx, cy, w, h, theta
	Polygons   [][][2]float64 `json:"polygons,omitempty"`  // segment: one ring per object
	Keypoints  [][][2]float64 `json:"keypoints,omitempty"` // pose
	Visibility [][]int        `json:"vis,omitempty"`       // pose: 0, 1 or 2 per point
}

// Equal reports the same objects in the same order, every number the same.
func (t Target) Equal(other Target) bool {
	return slices.Equal(t.Labels, other.Labels) &&
		slices.Equal(t.Boxes, other.Boxes) &&
		slices.Equal(t.RBoxes, other.RBoxes) &&
		slices.EqualFunc(t.Polygons, other.Polygons, slices.Equal) &&
		slices.EqualFunc(t.Keypoints, other.Keypoints, slices.Equal) &&
		slices.EqualFunc(t.Visibility, other.Visibility, slices.Equal)
}

// uncovered is the oriented box that no anchor centre falls into.
var uncovered = [5]float64{32, 32, 10, 9.75, 0.75}

// unit is the number of coordinate steps per pixel; odd multiples never meet an
// anchor centre or a grid line.
const unit = 32

// object draws the numbers of one object.
type object struct {
	stream Stream
	index  int
}

func (o object) draw(field, n int) int { return o.stream.Draw(128*(o.index+1)+field, n) }

// Target makes the objects of an image of a step. Steps and images count from 0
// and steps run through the epochs. The setting must be valid.
func (s *Setting) Target(step, image int) Target {
	stream := NewRule(s.Seed).Stream(fmt.Sprintf("target.%d.%d", step, image))
	target := Target{Labels: []int{}, Boxes: [][4]float64{}}
	for j := range s.objects(step, image, stream) {
		o := object{stream, j}
		w8, h8 := 24+o.draw(1, 360), 24+o.draw(2, 360)
		x1, y1 := 2*o.draw(3, 16*s.Width-2*w8)+1, 2*o.draw(4, 16*s.Height-2*h8)+1
		target.Labels = append(target.Labels, o.draw(0, s.Classes))
		box := [4]float64{pixels(x1), pixels(y1), pixels(x1 + 4*w8), pixels(y1 + 4*h8)}
		switch s.Task {
		case "segment":
			target.Polygons = append(target.Polygons, o.polygon(x1, y1, w8, h8))
		case "pose":
			points, visibility := o.keypoints(x1, y1, w8, h8, s.Keypoints, slices.Contains(s.InvisibleSteps, step))
			target.Keypoints = append(target.Keypoints, points)
			target.Visibility = append(target.Visibility, visibility)
		case "obb":
			rotated := o.rotated(x1, y1, w8, h8)
			if slices.Contains(s.UncoveredSteps, step) {
				rotated = uncovered
			}
			box = enclosing(rotated)
			target.RBoxes = append(target.RBoxes, rotated)
		}
		target.Boxes = append(target.Boxes, box)
	}
	return target
}

// objects is the number of objects of an image.
func (s *Setting) objects(step, image int, stream Stream) int {
	if slices.Contains(s.EmptySteps, step) || slices.Contains(s.EmptyImages, [2]int{step, image}) {
		return 0
	}
	if slices.Contains(s.UncoveredSteps, step) {
		return 1
	}
	return 1 + stream.Draw(0, 4)
}

func pixels(steps int) float64 { return float64(steps) / unit }

// polygon is a ring with one corner on each side of the box.
func (o object) polygon(x1, y1, w8, h8 int) [][2]float64 {
	x2, y2 := x1+4*w8, y1+4*h8
	return [][2]float64{
		{pixels(x1 + 2*o.draw(8, w8)), pixels(y1)},
		{pixels(x2), pixels(y1 + 2*o.draw(9, h8))},
		{pixels(x2 - 2*o.draw(10, w8)), pixels(y2)},
		{pixels(x1), pixels(y2 - 2*o.draw(11, h8))},
	}
}

// keypoints lie inside the box. An invisible point keeps its coordinates, which
// must not matter.
func (o object) keypoints(x1, y1, w8, h8, count int, invisible bool) (points [][2]float64, visibility []int) {
	for p := range count {
		points = append(points, [2]float64{pixels(x1 + o.draw(16+3*p, 4*w8)), pixels(y1 + o.draw(17+3*p, 4*h8))})
		v := o.draw(18+3*p, 3)
		if invisible {
			v = 0
		}
		visibility = append(visibility, v)
	}
	return points, visibility
}

// rotated is a canonical oriented box: the long side first, theta in
// [-pi/4, 3pi/4).
func (o object) rotated(x1, y1, w8, h8 int) [5]float64 {
	return [5]float64{
		pixels(x1 + 2*w8), pixels(y1 + 2*h8),
		float64(max(w8, h8)+1) / 8, float64(min(w8, h8)) / 8,
		float64(2*o.draw(5, 800)-399) / 512,
	}
}

// enclosing is the axis-aligned box of an oriented one with its edges moved to
// odd coordinate steps. It may leave the image.
func enclosing(r [5]float64) [4]float64 {
	cos, sin := math.Cos(r[4]), math.Sin(r[4])
	ex := (math.Abs(r[2]*cos) + math.Abs(r[3]*sin)) / 2
	ey := (math.Abs(r[2]*sin) + math.Abs(r[3]*cos)) / 2
	edge := func(v float64) float64 { return (2*math.Floor(16*v) + 1) / unit }
	return [4]float64{edge(r[0] - ex), edge(r[1] - ey), edge(r[0] + ex), edge(r[1] + ey)}
}

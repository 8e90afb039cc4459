package picture

import (
	"image"
	"image/color"
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Mark is one keypoint of an annotation, in pixels of the image.
type Mark struct {
	Point geometry.Point
	// Hidden keypoints are drawn hollow; absent ones, and their bones, are not
	// drawn.
	Hidden, Absent bool
}

// HumanBones join the 17 keypoints of COCO persons (COCO, arXiv:1405.0312): face,
// shoulders, arms, trunk and legs.
var HumanBones = [][2]int{
	{0, 1}, {0, 2}, {1, 3}, {2, 4}, {5, 6}, {5, 7}, {7, 9}, {6, 8}, {8, 10},
	{5, 11}, {6, 12}, {11, 12}, {11, 13}, {13, 15}, {12, 14}, {14, 16},
}

// bonesOf are the bones that an annotation names, or those of a person for 17
// keypoints, or none where nobody says which.
func bonesOf(annotation Annotation) [][2]int {
	if len(annotation.Bones) == 0 && len(annotation.Points) == 17 {
		return HumanBones
	}
	return annotation.Bones
}

// drawPose draws bones and keypoints over a dark casing.
func drawPose(canvas *image.RGBA, annotation Annotation, style style) {
	marks := annotation.Points
	casing, paint := color.NRGBA{A: 150}, classColor(annotation.Class)
	for _, bone := range bonesOf(annotation) {
		from, to := marks[bone[0]], marks[bone[1]]
		if !drawableMark(from) || !drawableMark(to) {
			continue
		}
		ends := []geometry.Point{from.Point, to.Point}
		fillPaths(canvas, strokePaths(ends, style.line+1), casing)
		fillPaths(canvas, strokePaths(ends, 0.7*style.line), paint)
	}
	for i, mark := range marks {
		if !drawableMark(mark) {
			continue
		}
		radius := 1.3 * style.line
		fillPaths(canvas, [][]geometry.Point{disc(mark.Point, radius+1)}, casing)
		fillPaths(canvas, [][]geometry.Point{disc(mark.Point, radius)}, classColor(i))
		if mark.Hidden {
			fillPaths(canvas, [][]geometry.Point{disc(mark.Point, 0.55*radius)}, color.NRGBA{A: 255})
		}
	}
}

func drawableMark(m Mark) bool {
	return !m.Absent && math.Abs(m.Point.X) < reach && math.Abs(m.Point.Y) < reach
}

package scenes

import (
	"fmt"
	"strings"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// orientedRow is class x1 y1 x2 y2 x3 y3 x4 y4, divided by the picture's side.
func orientedRow(object Object, side float64) string {
	corners := object.Box.Corners()
	return fmt.Sprint(object.Class) + pointsText(corners[:], side)
}

// segmentRow is the class and the points of the outline.
func segmentRow(object Object, side float64) string {
	return fmt.Sprint(object.Class) + pointsText(object.Outline, side)
}

func pointsText(points []geometry.Point, side float64) string {
	var text strings.Builder
	for _, p := range points {
		fmt.Fprintf(&text, " %.6f %.6f", p.X/side, p.Y/side)
	}
	return text.String()
}

// detectRow is class cx cy w h of what is visible.
func detectRow(object Object, side float64) string {
	box := geometry.Envelope(object.Outline)
	return fmt.Sprintf("%d %.6f %.6f %.6f %.6f", object.Class,
		(box.X1+box.X2)/2/side, (box.Y1+box.Y2)/2/side, box.Width()/side, box.Height()/side)
}

// poseRow is detectRow and x y v for every keypoint.
func poseRow(object Object, side float64) string {
	var text strings.Builder
	text.WriteString(detectRow(object, side))
	for _, p := range object.Keypoints {
		if p.X < 0 || p.Y < 0 || p.X > side || p.Y > side {
			text.WriteString(" 0 0 0")
			continue
		}
		fmt.Fprintf(&text, " %.6f %.6f 2", p.X/side, p.Y/side)
	}
	return text.String()
}

// poseKeys are the keys of data.yaml that describe the keypoints.
func poseKeys() string {
	order := strings.Trim(strings.ReplaceAll(fmt.Sprint(KeypointFlip), " ", ", "), "[]")
	return fmt.Sprintf("\nkpt_shape: [%d, 3]\nflip_idx: [%s]\n", len(KeypointNames), order)
}

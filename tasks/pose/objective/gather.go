package objective

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// gathered holds the labelled keypoints of the positives of one branch, as the
// two terms see them.
type gathered struct {
	points    []Point
	instances []Instance
}

// gather selects labelled points before any arithmetic, in the order of images,
// anchors and points.
func gather[T device.Float](s *step, output []T, assignment *yolo26.Assignment) gathered {
	var rows gathered
	k := s.objective.options.Points
	tolerance := tolerances(k)
	for image, positives := range assignment.Images {
		for _, positive := range positives {
			object := image*s.Truth.Instances + positive.Object
			box := s.Truth.Boxes[object]
			frame := newFrame(box)
			one := Instance{Area: max(box.Width()*box.Height(), 1), stride: s.Grid.Stride[positive.Anchor]}
			for i := range k {
				if s.visibility[object][i] == 0 {
					continue
				}
				flat := ((image*s.Grid.Anchors()+positive.Anchor)*k + i) * 4
				raw := output[flat : flat+4]
				predicted, target := yolo26.DecodePoint(s.Grid, positive.Anchor, raw[0], raw[1]), s.keypoints[object][i]
				rows.points = append(rows.points, Point{
					Predicted: frame.inside(predicted), Target: frame.inside(target),
					RawSpread: geometry.Point{X: float64(raw[2]), Y: float64(raw[3])},
					flat:      flat,
					scale:     [2]float64{one.stride / frame.width, one.stride / frame.height},
				})
				one.Predicted, one.Target = append(one.Predicted, predicted), append(one.Target, target)
				one.Tolerance, one.flat = append(one.Tolerance, tolerance[i]), append(one.flat, flat)
			}
			if len(one.Predicted) > 0 {
				rows.instances = append(rows.instances, one)
			}
		}
	}
	return rows
}

// frame is the coordinate system of a box.
type frame struct{ left, top, width, height float64 }

// newFrame gives sides below 1 px the length of 1 px.
func newFrame(box yolo26.Box) frame {
	return frame{left: box.X1, top: box.Y1, width: max(box.Width(), 1), height: max(box.Height(), 1)}
}

func (f frame) inside(p geometry.Point) geometry.Point {
	return geometry.Point{X: (p.X - f.left) / f.width, Y: (p.Y - f.top) / f.height}
}

// check reports a term that returned derivatives for other rows than it was
// given.
func (g gathered) check(slopes [][4]float64, pixelSlopes [][][2]float64) error {
	if slopes != nil && len(slopes) != len(g.points) {
		return fmt.Errorf("keypoint term returned %d derivatives for %d points; return one per point, or nil when the term takes no part", len(slopes), len(g.points))
	}
	if pixelSlopes == nil {
		return nil
	}
	if len(pixelSlopes) != len(g.instances) {
		return fmt.Errorf("similarity term returned derivatives for %d of %d instances; return one list per instance, or nil when the term takes no part", len(pixelSlopes), len(g.instances))
	}
	for i, one := range g.instances {
		if len(pixelSlopes[i]) != len(one.Predicted) {
			return fmt.Errorf("similarity term returned %d derivatives for the %d points of instance %d; return one per point", len(pixelSlopes[i]), len(one.Predicted), i)
		}
	}
	return nil
}

// scatter carries derivatives by points to the raw outputs, under the weight of
// the branch and the gains.
func (g gathered) scatter(weight float64, o *Options, slopes [][4]float64, pixelSlopes [][][2]float64, add func(at int, slope float64)) {
	for i, p := range g.points {
		if slopes == nil {
			break
		}
		share := weight * o.KeypointGain
		add(p.flat, share*slopes[i][0]*p.scale[0])
		add(p.flat+1, share*slopes[i][1]*p.scale[1])
		add(p.flat+2, share*slopes[i][2])
		add(p.flat+3, share*slopes[i][3])
	}
	for i, one := range g.instances {
		if pixelSlopes == nil {
			break
		}
		share := weight * o.SimilarityGain * one.stride
		for p, slope := range pixelSlopes[i] {
			add(one.flat[p], share*slope[0])
			add(one.flat[p]+1, share*slope[1])
		}
	}
}

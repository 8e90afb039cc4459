package eval_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

const (
	classes = 3
	points  = 2
	side    = 128
)

// network writes raw outputs that decode to given detections.
type network[T device.Float] struct {
	t       *testing.T
	grid    *objective.Grid
	outputs trainer.Outputs[T]
}

// newNetwork has a batch of images without any detection, whose class logits
// give the probability 0.
func newNetwork[T device.Float](t *testing.T, images int) *network[T] {
	t.Helper()
	grid, err := objective.Size{Batch: images, Height: side, Width: side, Classes: classes}.Grid()
	require.NoError(t, err)
	n := &network[T]{t: t, grid: grid, outputs: trainer.Outputs[T]{}}
	for name, channels := range map[string]int{
		"o2o_cls": classes, "o2o_box": 4, "o2o_angle": 1, "o2o_coeff": 2, "o2o_keypoint": 4 * points,
	} {
		n.outputs[name] = make([]T, images*grid.Anchors()*channels)
	}
	for i := range n.outputs["o2o_cls"] {
		n.outputs["o2o_cls"][i] = -1000
	}
	n.outputs["prototypes"] = make([]T, images*2*side/4*side/4)
	return n
}

// detect makes an anchor of an image detect a box.
func (n *network[T]) detect(image, anchor, class int, logit float64, box geometry.Box) {
	row := image*n.grid.Anchors() + anchor
	x, y, stride := n.grid.X[anchor], n.grid.Y[anchor], n.grid.Stride[anchor]
	n.outputs["o2o_cls"][row*classes+class] = T(logit)
	copy(n.outputs["o2o_box"][4*row:], []T{
		T((x - box.X1) / stride), T((y - box.Y1) / stride), T((box.X2 - x) / stride), T((box.Y2 - y) / stride),
	})
}

// turn makes an anchor detect a rotated box.
func (n *network[T]) turn(image, anchor, class int, logit float64, box geometry.RotatedBox) {
	n.detect(image, anchor, class, logit, geometry.Box{
		X1: box.CenterX - box.Width/2, Y1: box.CenterY - box.Height/2,
		X2: box.CenterX + box.Width/2, Y2: box.CenterY + box.Height/2,
	})
	n.outputs["o2o_angle"][image*n.grid.Anchors()+anchor] = T(box.Angle)
}

// batch has the given targets on canvases of side x side.
func batch(targets ...data.Target) *data.Batch {
	b := &data.Batch{N: len(targets), H: side, W: side, Targets: targets}
	for i := range targets {
		b.Paths = append(b.Paths, string(rune('a'+i))+".png")
	}
	return b
}

// figures are the terms of a metric by name, after a check of their order.
func figures(t *testing.T, result func() ([]trainer.Term, error), names ...string) map[string]float64 {
	t.Helper()
	terms, err := result()
	require.NoError(t, err)
	values := map[string]float64{}
	var got []string
	for _, term := range terms {
		got = append(got, term.Name)
		values[term.Name] = term.Value
	}
	require.Equal(t, names, got)
	return values
}

package objective

import (
	"math/rand/v2"
	"testing"

	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
	"github.com/stretchr/testify/require"
)

func rbox(centerX, centerY, width, height, angle float64) yolo26.RotatedBox {
	return yolo26.RotatedBox{CenterX: centerX, CenterY: centerY, Width: width, Height: height, Angle: angle}
}

// target has the envelopes of its boxes; labels cycle through the classes.
func target(classes int, boxes ...yolo26.RotatedBox) Target {
	var t Target
	for i, box := range boxes {
		t.Labels = append(t.Labels, i%classes)
		t.Rotated = append(t.Rotated, box)
		t.Boxes = append(t.Boxes, box.Envelope())
	}
	return t
}

// randomTargets draws up to objects per image.
func randomTargets(seed uint64, size Size, objects int) []Target {
	random := rand.New(rand.NewPCG(seed, 1))
	targets := make([]Target, size.Batch)
	for i := range targets {
		boxes := make([]yolo26.RotatedBox, 1+random.IntN(objects))
		for n := range boxes {
			boxes[n] = rbox(float64(size.Width)*random.Float64(), float64(size.Height)*random.Float64(),
				12+30*random.Float64(), 4+20*random.Float64(), 3*random.Float64())
		}
		targets[i] = target(size.Classes, boxes...)
	}
	return targets
}

// randomOutputs draws boxes of a few cells around the anchors.
func randomOutputs[T device.Float](seed uint64, size Size) Outputs[T] {
	random := rand.New(rand.NewPCG(seed, 2))
	anchors := size.Batch * anchorsOf(size)
	branch := func() Branch[T] {
		b := Branch[T]{Class: make([]T, anchors*size.Classes), Box: make([]T, anchors*4), Angle: make([]T, anchors)}
		for i := range b.Class {
			b.Class[i] = T(2*random.NormFloat64() - 2)
		}
		for i := range b.Box {
			b.Box[i] = T(0.2 + 2*random.Float64())
		}
		for i := range b.Angle {
			b.Angle[i] = T(4 * random.NormFloat64())
		}
		return b
	}
	return Outputs[T]{OneToMany: branch(), OneToOne: branch()}
}

func anchorsOf(size Size) int {
	return size.Height * size.Width * (16 + 4 + 1) / 1024
}

func newObjective(t testing.TB) *Objective {
	t.Helper()
	o, err := New(DefaultOptions())
	require.NoError(t, err)
	return o
}

func (c Cotangents[T]) each(visit func(name string, values []T)) {
	for _, branch := range []struct {
		name string
		Branch[T]
	}{{"one-to-many", c.OneToMany}, {"one-to-one", c.OneToOne}} {
		visit(branch.name+" class", branch.Class)
		visit(branch.name+" box", branch.Box)
		visit(branch.name+" angle", branch.Angle)
	}
}

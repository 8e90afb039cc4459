package objective

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
	"github.com/stretchr/testify/require"
)

var small = Size{Batch: 2, Height: 64, Width: 96, Classes: 3}

func xyxy(x1, y1, x2, y2 float64) yolo26.Box { return yolo26.Box{X1: x1, Y1: y1, X2: x2, Y2: y2} }

func logit(p float64) float64 { return math.Log(p / (1 - p)) }

func newObjective(t testing.TB) *Objective {
	t.Helper()
	o, err := New(DefaultOptions())
	require.NoError(t, err)
	return o
}

func anchorsOf(size Size) int { return size.Height * size.Width * (16 + 4 + 1) / 1024 }

// randomOutputs draws boxes of a few cells around the anchors.
func randomOutputs[T device.Float](seed uint64, size Size) Outputs[T] {
	random := rand.New(rand.NewPCG(seed, 2))
	anchors := size.Batch * anchorsOf(size)
	branch := func() Branch[T] {
		b := Branch[T]{Class: make([]T, anchors*size.Classes), Box: make([]T, anchors*4)}
		for i := range b.Class {
			b.Class[i] = T(2*random.NormFloat64() - 2)
		}
		for i := range b.Box {
			b.Box[i] = T(0.2 + 2*random.Float64())
		}
		return b
	}
	return Outputs[T]{OneToMany: branch(), OneToOne: branch()}
}

// randomTargets draws up to objects per image.
func randomTargets(seed uint64, size Size, objects int) []Target {
	random := rand.New(rand.NewPCG(seed, 1))
	targets := make([]Target, size.Batch)
	for i := range targets {
		for n := range 1 + random.IntN(objects) {
			x, y := float64(size.Width)*random.Float64(), float64(size.Height)*random.Float64()
			w, h := 6+15*random.Float64(), 4+12*random.Float64()
			targets[i].Labels = append(targets[i].Labels, n%size.Classes)
			targets[i].Boxes = append(targets[i].Boxes, xyxy(x-w, y-h, x+w, y+h))
		}
	}
	return targets
}

func each[T device.Float](o Outputs[T], visit func(name string, values []T)) {
	visit("one-to-many class", o.OneToMany.Class)
	visit("one-to-many box", o.OneToMany.Box)
	visit("one-to-one class", o.OneToOne.Class)
	visit("one-to-one box", o.OneToOne.Box)
}

// example is worked example (a) of section 1.3 as the outputs of both branches.
func example(t *testing.T, objects ...int) (*yolo26.Step, Outputs[float64]) {
	t.Helper()
	grid := yolo26.NewGrid(yolo26.Level{Rows: 1, Columns: 3, Stride: 8})
	var output Branch[float64]
	for anchor, box := range []yolo26.Box{xyxy(0, 0, 14, 8), xyxy(2, 1, 18, 9), xyxy(10, 0, 24, 7)} {
		x, y, stride := grid.X[anchor], grid.Y[anchor], grid.Stride[anchor]
		output.Box = append(output.Box, (x-box.X1)/stride, (y-box.Y1)/stride, (box.X2-x)/stride, (box.Y2-y)/stride)
	}
	for _, p := range []float64{.1, .6, .4, .5, .7, .2} {
		output.Class = append(output.Class, logit(p))
	}
	labels, boxes := [][]int{nil}, [][]yolo26.Box{nil}
	for _, n := range objects {
		labels[0] = append(labels[0], []int{1, 0}[n])
		boxes[0] = append(boxes[0], []yolo26.Box{xyxy(0, 0, 16, 8), xyxy(9, 0, 24, 8)}[n])
	}
	truth, err := yolo26.Pad(labels, boxes, 2)
	require.NoError(t, err)
	step := &yolo26.Step{Size: Size{Batch: 1, Height: 8, Width: 24, Classes: 2}, Grid: grid, Truth: truth}
	return step, Outputs[float64]{OneToMany: output, OneToOne: output}
}

package objective

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

const points = 3

var small = Size{Batch: 2, Height: 64, Width: 96, Classes: 2}

func newObjective(t testing.TB, change ...func(*Options)) *Objective {
	t.Helper()
	options := DefaultOptions(points)
	for _, c := range change {
		c(&options)
	}
	o, err := New(options)
	require.NoError(t, err)
	return o
}

func anchorsOf(size Size) int { return size.Height * size.Width * (16 + 4 + 1) / 1024 }

func randomOutputs[T device.Float](seed uint64, size Size) Outputs[T] {
	random := rand.New(rand.NewPCG(seed, 2))
	anchors := size.Batch * anchorsOf(size)
	fill := func(n int, center, spread float64) []T {
		values := make([]T, n)
		for i := range values {
			values[i] = T(center + spread*random.NormFloat64())
		}
		return values
	}
	branch := func() Branch[T] {
		return Branch[T]{
			Dense:    yolo26.Dense[T]{Class: fill(anchors*size.Classes, -2, 2), Box: fill(anchors*4, 1.5, 0.4)},
			Keypoint: fill(anchors*4*points, 0, 0.7),
		}
	}
	return Outputs[T]{OneToMany: branch(), OneToOne: branch()}
}

// randomTargets draws objects with points of every visibility.
func randomTargets(seed uint64, size Size, objects int) []Target {
	random := rand.New(rand.NewPCG(seed, 1))
	targets := make([]Target, size.Batch)
	for i := range targets {
		for n := range 1 + random.IntN(objects) {
			x, y := float64(size.Width)*random.Float64(), float64(size.Height)*random.Float64()
			w, h := 6+15*random.Float64(), 4+12*random.Float64()
			t := &targets[i]
			t.Labels = append(t.Labels, n%size.Classes)
			t.Boxes = append(t.Boxes, yolo26.Box{X1: x - w, Y1: y - h, X2: x + w, Y2: y + h})
			var keypoints []geometry.Point
			visibility := make([]uint8, points)
			for k := range points {
				keypoints = append(keypoints, geometry.Point{X: x + w*(2*random.Float64()-1), Y: y + h*(2*random.Float64()-1)})
				visibility[k] = uint8((n + k) % 3)
			}
			t.Keypoints, t.Visibility = append(t.Keypoints, keypoints), append(t.Visibility, visibility)
		}
	}
	return targets
}

func invisible(targets []Target) []Target {
	for i := range targets {
		for _, visibility := range targets[i].Visibility {
			clear(visibility)
		}
	}
	return targets
}

// randomFlow draws a flow as training starts it, with gains that differ.
func randomFlow(seed uint64) *Flow {
	random := rand.New(rand.NewPCG(seed, 3))
	f := zeroFlow()
	for i, values := range f.slices() {
		p := FlowParameters()[i]
		for k := range values {
			values[k] = p.Value + 0.3*random.NormFloat64()
			if p.Bound > 0 {
				values[k] = p.Bound * (2*random.Float64() - 1)
			}
		}
	}
	return f
}

func flowOf[T device.Float](seed uint64) [][]T { return FlowValues[T](randomFlow(seed)) }

func each[T device.Float](o Outputs[T], visit func(name string, values []T)) {
	visit("one-to-many class", o.OneToMany.Class)
	visit("one-to-many box", o.OneToMany.Box)
	visit("one-to-many keypoint", o.OneToMany.Keypoint)
	visit("one-to-one class", o.OneToOne.Class)
	visit("one-to-one box", o.OneToOne.Box)
	visit("one-to-one keypoint", o.OneToOne.Keypoint)
}

// slope is the central difference of f along one variable.
func slope(variable *float64, f func() float64) float64 {
	const step = 1e-6
	at := *variable
	*variable = at + step
	up := f()
	*variable = at - step
	down := f()
	*variable = at
	return (up - down) / (2 * step)
}

func near(t *testing.T, want, got float64) {
	t.Helper()
	if want == 0 {
		require.InDelta(t, 0, got, 1e-12)
		return
	}
	require.InEpsilon(t, want, got, 1e-8)
}

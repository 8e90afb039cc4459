package objective

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

var small = Size{Batch: 2, Height: 64, Width: 96, Classes: 3}

func newObjective(t testing.TB, change ...func(*Options)) *Objective {
	t.Helper()
	options := DefaultOptions()
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
			Dense:       yolo26.Dense[T]{Class: fill(anchors*size.Classes, -2, 2), Box: fill(anchors*4, 1.5, 0.4)},
			Coefficient: fill(anchors*Prototypes, 0, 0.5),
		}
	}
	pixels := size.Batch * size.Height * size.Width
	return Outputs[T]{
		OneToMany: branch(), OneToOne: branch(),
		Prototypes: fill(pixels/16*Prototypes, 0, 0.5), Semantic: fill(pixels/64*size.Classes, -1, 1),
	}
}

// randomTargets draws objects whose masks are the cells of an ellipse in the box.
func randomTargets(seed uint64, size Size, objects int) []Target {
	random := rand.New(rand.NewPCG(seed, 1))
	targets := make([]Target, size.Batch)
	for i := range targets {
		for n := range 1 + random.IntN(objects) {
			x, y := float64(size.Width)*random.Float64(), float64(size.Height)*random.Float64()
			w, h := 6+15*random.Float64(), 4+12*random.Float64()
			mask := make([]bool, size.Height/4*(size.Width/4))
			for cell := range mask {
				dx := (float64(cell%(size.Width/4))*4 - x) / w
				dy := (float64(cell/(size.Width/4))*4 - y) / h
				mask[cell] = dx*dx+dy*dy < 1
			}
			targets[i].Labels = append(targets[i].Labels, n%size.Classes)
			targets[i].Boxes = append(targets[i].Boxes, yolo26.Box{X1: x - w, Y1: y - h, X2: x + w, Y2: y + h})
			targets[i].Masks = append(targets[i].Masks, mask)
		}
	}
	return targets
}

func each[T device.Float](o Outputs[T], visit func(name string, values []T)) {
	visit("one-to-many class", o.OneToMany.Class)
	visit("one-to-many box", o.OneToMany.Box)
	visit("one-to-many coefficient", o.OneToMany.Coefficient)
	visit("one-to-one class", o.OneToOne.Class)
	visit("one-to-one box", o.OneToOne.Box)
	visit("one-to-one coefficient", o.OneToOne.Coefficient)
	visit("prototypes", o.Prototypes)
	visit("semantic", o.Semantic)
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

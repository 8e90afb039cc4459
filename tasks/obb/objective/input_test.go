package objective

import (
	"fmt"
	"math"
	"testing"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
	"github.com/stretchr/testify/require"
)

func TestLossRefusesWhatDoesNotFit(t *testing.T) {
	good := func() []Target { return []Target{target(3, rbox(30, 30, 20, 10, 0.3)), {}} }
	for name, c := range map[string]struct {
		size    func(*Size)
		outputs func(*Outputs[float32])
		targets func() []Target
		alpha   float64
		want    string
	}{
		"no images":  {size: func(s *Size) { s.Batch = 0 }, want: "batch of 0 images"},
		"no classes": {size: func(s *Size) { s.Classes = 0 }, want: "with 0 classes"},
		"side":       {size: func(s *Size) { s.Width = 100 }, want: "64 x 100 pixels: both sides must be positive multiples of 32"},
		"alpha":      {alpha: 1.5, want: "one-to-many weight of 1.5"},
		"alpha nan":  {alpha: math.NaN(), want: "one-to-many weight of NaN"},
		"classes of another network": {size: func(s *Size) { s.Classes = 4 },
			want: "one-to-many class output has 756 elements, want 2 x 126 x 4 = 1008; pass the output of a network built for this size"},
		"box":         {outputs: func(o *Outputs[float32]) { o.OneToOne.Box = nil }, want: "one-to-one box output has 0 elements"},
		"angle":       {outputs: func(o *Outputs[float32]) { o.OneToOne.Angle = o.OneToOne.Angle[1:] }, want: "one-to-one angle output has 251 elements, want 2 x 126 x 1"},
		"image count": {targets: func() []Target { return good()[:1] }, want: "1 targets for a batch of 2 images; give one per image"},
		"rotated count": {targets: func() []Target { g := good(); g[0].Rotated = nil; return g },
			want: "image 0 has 0 rotated boxes for 1 labels; give one for every object"},
		"box count": {targets: func() []Target { g := good(); g[0].Boxes = make([]yolo26.Box, 2); return g },
			want: "image 0 has 2 boxes for 1 labels"},
		"label count": {targets: func() []Target { g := good(); g[1].Labels = []int{1}; return g },
			want: "image 1 has 0 boxes for 1 labels"},
		"not finite": {targets: func() []Target { g := good(); g[0].Rotated[0].Angle = math.NaN(); return g },
			want: "image 0, object 0: rotated box"},
	} {
		t.Run(name, func(t *testing.T) {
			size, outputs, targets, alpha := small, randomOutputs[float32](1, small), good(), 0.5
			if c.size != nil {
				c.size(&size)
			}
			if c.outputs != nil {
				c.outputs(&outputs)
			}
			if c.targets != nil {
				targets = c.targets()
			}
			if c.alpha != 0 {
				alpha = c.alpha
			}
			_, err := Loss(newObjective(t), outputs, size, targets, alpha)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Field case YO-08: three classes, labels 3 and -1.
func TestLossRefusesLabelsOutsideTheClasses(t *testing.T) {
	for _, label := range []int{3, -1} {
		targets := []Target{{}, target(3, rbox(30, 30, 20, 10, 0.3), rbox(40, 30, 20, 10, 0.3))}
		targets[1].Labels[1] = label
		o := newObjective(t)
		_, err := Loss(o, randomOutputs[float32](1, small), small, targets, 0.5)
		require.EqualError(t, err, fmt.Sprintf("image 1, object 1: class %d is outside 0..2; correct the label or raise the number of classes", label))
		targets[1].Labels[1] = 2
		_, err = Loss(o, randomOutputs[float32](1, small), small, targets, 0.5)
		require.NoError(t, err, "the objective is as good as before")
	}
}

// Outputs that are not finite, wherever they are, make the total not finite.
func TestBrokenOutputsShowInTheTotal(t *testing.T) {
	o := newObjective(t)
	for _, targets := range [][]Target{randomTargets(6, small, 4), {{}, {}}} {
		for _, broken := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, place := range []func(*Outputs[float64]) *float64{
				func(o *Outputs[float64]) *float64 { return &o.OneToMany.Class[100] },
				func(o *Outputs[float64]) *float64 { return &o.OneToMany.Box[0] },
				func(o *Outputs[float64]) *float64 { return &o.OneToOne.Box[130] },
				func(o *Outputs[float64]) *float64 { return &o.OneToOne.Angle[251] },
			} {
				outputs := randomOutputs[float64](6, small)
				*place(&outputs) = broken
				result, err := Loss(o, outputs, small, targets, 0.5)
				require.NoError(t, err)
				require.False(t, yolo26.Finite([]float64{result.Total}), "%v", broken)
			}
		}
		outputs := randomOutputs[float64](6, small)
		for i := range outputs.OneToMany.Box {
			outputs.OneToMany.Box[i] = math.NaN()
		}
		result, err := Loss(o, outputs, small, targets, 0.5)
		require.NoError(t, err)
		require.True(t, math.IsNaN(result.Total))
	}
}

// Field cases YO-09 and YO-15: predictions without extent, inverted ones, and
// objects below the stride.
func TestDegenerateBoxesStayFinite(t *testing.T) {
	o := newObjective(t)
	for _, object := range []yolo26.RotatedBox{rbox(28, 28, 1, 1, 0.3), rbox(28, 28, 0, 0, 0.3), rbox(28, 28, 40, 0, 1)} {
		for _, raw := range []float32{0, -1, -3, 1e-6, 0.06, 50, 3e38} {
			outputs := randomOutputs[float32](6, small)
			for _, branch := range []Branch[float32]{outputs.OneToMany, outputs.OneToOne} {
				for i := range branch.Box {
					branch.Box[i] = raw
				}
			}
			result, err := Loss(o, outputs, small, []Target{target(3, object), {}}, 0.5)
			require.NoError(t, err)
			require.Positive(t, result.OneToMany.Positives)
			require.True(t, yolo26.Finite([]float64{result.Total}), "%v predicted as %v", object, raw)
			result.Cotangents.each(func(name string, values []float32) {
				require.True(t, yolo26.Finite(values), "%s of %v predicted as %v", name, object, raw)
			})
		}
	}
}

// Field case YO-11: 21 anchors, k 10 and 13.
func TestTopKAboveTheCandidates(t *testing.T) {
	size := Size{Batch: 1, Height: 32, Width: 32, Classes: 2}
	for topK, positives := range map[int]int{10: 10, 13: 13, 50: 21} {
		options := DefaultOptions()
		options.OneToMany.TopK = topK
		o, err := New(options)
		require.NoError(t, err)
		result, err := Loss(o, randomOutputs[float32](1, size), size, []Target{target(2, rbox(16, 16, 40, 38, 0))}, 0.5)
		require.NoError(t, err)
		require.Equal(t, positives, result.OneToMany.Positives)
		require.Equal(t, 1, result.OneToOne.Positives)
	}
}

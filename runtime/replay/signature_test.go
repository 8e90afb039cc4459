package replay

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

func (r *rig) run(in Source) []float32 {
	r.Helper()
	out, err := r.stage.Forward([]Source{in})
	require.NoError(r, err)
	return read(r.T, out[0])
}

// Field case SG-01: an input at another address is never read stale.
func TestInputsAreCopied(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		ones, twos := values(1, 4), values(2, 4)
		require.Equal(t, values(1, 4), r.run(Float32s(ones, 1, 1, 2, 2)))
		require.Equal(t, values(2, 4), r.run(Float32s(twos, 1, 1, 2, 2)))
		twos[0] = 7
		require.Equal(t, []float32{7, 2, 2, 2}, r.run(Float32s(twos, 1, 1, 2, 2)))
	})
}

// Field cases SG-02, SG-03 and SG-04: another shape, layout or type, or a
// partial batch, is native with its reason and correct, and the existing
// recording serves the next matching step.
func TestOtherSignatures(t *testing.T) {
	counting := []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	for _, c := range []struct {
		name, reason string
		in           Source
		want         []float32
	}{
		{"one buffer, other view", "G4 other size", Float32s(counting, 2, 1, 2, 4), counting},
		{"partial batch", "G4 partial batch", Float32s(counting[:8], 1, 1, 4, 2), counting[:8]},
		{"larger batch", "G4 other size", Float32s(append(counting, counting[:8]...), 3, 1, 2, 4), append(counting, counting[:8]...)},
		{"transposed", "G4 other layout of input x", Float32s(counting, 2, 1, 4, 2).WithStrides(8, 8, 1, 4),
			[]float32{0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15}},
		{"offset by one element", "", Float32s(append(counting, 16)[1:], 2, 1, 4, 2), append(counting, 16)[1:]},
		{"strides of a contiguous layout", "", Float32s(counting, 2, 1, 4, 2).WithStrides(8, 8, 2, 1), counting},
		{"strided float64", "G4 other layout of input x", Float64s([]float64{0, 9, 1, 9, 2, 9, 3, 9, 4, 9, 5, 9, 6, 9, 7, 9, 8, 9, 9, 9, 10, 9, 11, 9, 12, 9, 13, 9, 14, 9, 15}, 2, 1, 4, 2).WithStrides(16, 16, 4, 2), counting},
		{"float64", "G4 other type of input x", Float64s([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 2, 1, 4, 2), counting},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Settings{}, capture)
			for range 2 {
				require.Equal(t, counting, r.run(Float32s(counting, 2, 1, 4, 2)))
				require.Equal(t, c.want, r.run(c.in))
			}
			got := r.report()
			require.Equal(t, 1, got.Recorded)
			if c.reason == "" {
				require.Equal(t, 4, got.Replayed)
				require.Empty(t, got.Reasons)
			} else {
				require.Equal(t, 2, got.Replayed)
				require.Equal(t, map[string]int{c.reason: 2}, reasons(got))
			}
			require.EqualValues(t, 4, r.steps())
			r.close()
		})
	}
}

// Field case SG-04, contract section 5 number 5: 10 images in batches of 4 for
// two epochs: two partial batches are native, the rest replays one recording.
func TestPartialBatches(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	for range 2 {
		for _, batch := range []int{4, 4, 2} {
			_, err := r.stage.Forward([]Source{image(1, batch, 2)})
			require.NoError(t, err)
			require.NoError(t, r.stage.Backward([]Source{image(1, batch, 2), {}}))
		}
	}
	got := r.report()
	require.Equal(t, 1, got.Recorded)
	require.Equal(t, 4, got.Replayed)
	require.Equal(t, 2, got.Partial)
	require.Equal(t, 2, got.Native)
	r.close()
}

// A fit that starts with a batch that is not full waits for a full one.
func TestFirstFullBatchDecides(t *testing.T) {
	r := newRig(t, Settings{Batch: 4}, capture)
	r.run(image(1, 2, 2))
	_, ok := r.stage.Signature()
	require.False(t, ok)
	r.run(image(1, 4, 2))
	r.run(image(1, 2, 2))
	signature, _ := r.stage.Signature()
	require.Equal(t, ir.Sizes{Batch: 4, Height: 2, Width: 2}, signature.Sizes)
	got := r.report()
	require.Equal(t, 1, got.Replayed)
	require.Equal(t, 2, got.Partial)
	r.close()
}

// Field case SG-10, guard G9: evaluation is native in every fit, between the two
// passes of a step too, and leaves the training state and the recording alone.
func TestEvaluationLeavesTrainingAlone(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	for i := range 20 {
		out := r.forward(1)
		batch := 1 + i%3 // also the size of the open step
		evaluated, err := r.stage.Evaluate([]Source{image(3, batch, 2)})
		require.NoError(t, err)
		require.Equal(t, values(3, 4*batch), read(t, evaluated[0]))
		require.Equal(t, values(1, 4), read(t, out[0]))
		r.backward(number(1), nil)
		a, _ := r.gradient(0)
		require.EqualValues(t, 4, a)
		r.stage.ClearGradients()
		require.EqualValues(t, i+1, r.steps())
	}
	require.EqualValues(t, 100+2*10, r.dev.counters.Bytes, "one binding to train, one to evaluate")
	got := r.report()
	require.Equal(t, 20, got.Replayed)
	require.Equal(t, map[string]int{"G9 evaluation": 20}, reasons(got))
	require.Empty(t, r.fit.Report().Warnings)
	r.close()
}

func TestEvaluationHandlesEnd(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	r.stage.plan.Outputs[1].TrainingOnly = true
	first, err := r.stage.Evaluate([]Source{image(1, 1, 2)})
	require.NoError(t, err)
	require.Nil(t, first[1], "the output exists in training only")
	_, err = r.stage.Evaluate([]Source{image(1, 2, 2)})
	require.NoError(t, err)
	require.ErrorContains(t, first[0].ReadFloat32(make([]float32, 4)), "ended with the next evaluation")
	r.close()
}

// Field case SE-09: static memory starts as NaN, which never shows.
func TestJunkNeverShows(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		for _, out := range r.forward(1) {
			for _, v := range read(t, out) {
				require.False(t, math.IsNaN(float64(v)))
			}
		}
		r.backward(number(1), number(1))
		a, _ := r.gradient(0)
		require.EqualValues(t, 4, a)
	})
}

func TestInputsAreChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []Source
		want string
	}{
		{"count", nil, "stage pair: 0 inputs given, it has 1"},
		{"absent", []Source{{}}, "input x is absent; give its values"},
		{"values", []Source{Float32s(values(1, 5), 1, 1, 2, 2)}, "5 values for shape [1 1 2 2], which has 4"},
		{"rank", []Source{Float32s(values(1, 4), 2, 2)}, "x has shape [2 2], the stage takes (N, 1, H, W)"},
		{"channels", []Source{Float32s(values(1, 12), 1, 3, 2, 2)}, "x has shape [1 3 2 2]"},
		{"multiple", []Source{Float32s(values(1, 6), 1, 1, 2, 3)}, "is not a positive multiple of 2 x 2 px"},
		{"empty", []Source{Float32s([]float32{}, 0, 1, 2, 2)}, "batch of 0 images"},
		{"negative", []Source{Float32s(values(1, 4), -1, 1, 2, 2)}, "negative size"},
		{"reach", []Source{Float32s(values(1, 4), 1, 1, 2, 2).WithStrides(4, 4, 2, 2)}, "reaches element 4 of 4"},
		{"stride rank", []Source{Float32s(values(1, 4), 1, 1, 2, 2).WithStrides(1)}, "1 strides for 4 sizes"},
		{"backward", []Source{Float32s(values(1, 4), 1, 1, 2, 2).WithStrides(4, 4, -2, 1)}, "-2 is negative"},
		{"pixels", []Source{Images(make([]uint8, 11), 1, 2, 2)}, "11 values for shape [1 3 2 2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Settings{}, capture)
			_, err := r.stage.Forward(c.in)
			require.ErrorContains(t, err, c.want)
			_, err = r.stage.Evaluate(c.in)
			require.ErrorContains(t, err, c.want)
			_, fixed := r.stage.Signature()
			require.False(t, fixed, "a bad call does not decide the signature")
			r.close()
		})
	}
}

// Sizes follow from inputs that are smaller than the network input.
func TestSolveSizes(t *testing.T) {
	quarter := func(d ir.Dim) ir.Dim {
		q, ok := d.Divide(4, ir.Multiple{Height: 8, Width: 8})
		require.True(t, ok)
		return q
	}
	plan := func(shapes ...[]ir.Dim) *ir.Stage {
		s := &ir.Stage{Name: "s", Multiple: ir.Multiple{Height: 8, Width: 8}}
		for _, shape := range shapes {
			s.Inputs = append(s.Inputs, ir.Port{Name: "in", Tensor: s.AddTensor(ir.Tensor{Shape: shape})})
		}
		return s
	}
	feature := []ir.Dim{ir.N.Times(2), ir.Const(5), quarter(ir.H), quarter(ir.W)}
	rows := []ir.Dim{ir.N, quarter(ir.H).Mul(quarter(ir.W)), ir.Const(5)}

	sizes, err := solveSizes(plan(rows, feature), [][]int{{3, 12, 5}, {6, 5, 6, 2}})
	require.NoError(t, err)
	require.Equal(t, ir.Sizes{Batch: 3, Height: 24, Width: 8}, sizes)

	_, err = solveSizes(plan(feature), [][]int{{5, 5, 6, 2}})
	require.ErrorContains(t, err, "in has shape [5 5 6 2]")
	_, err = solveSizes(plan(rows), [][]int{{3, 12, 5}})
	require.ErrorContains(t, err, "its height does not follow")
	sizes, err = solveSizes(plan([]ir.Dim{ir.N, ir.Const(16)}), [][]int{{3, 16}})
	require.NoError(t, err)
	require.Equal(t, ir.Sizes{Batch: 3, Height: 8, Width: 8}, sizes)
}

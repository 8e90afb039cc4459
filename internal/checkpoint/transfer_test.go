package checkpoint

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/optim"
)

// entries is the network of example with zero values and the given class count.
func entries(classes int) []Entry[float32] {
	return []Entry[float32]{
		{Name: "stem.conv.weight", Shape: []int{2, 1, 1, 1}, Value: make([]float32, 2)},
		{Name: "head.cls.bias", Shape: []int{classes}, Value: make([]float32, classes)},
		{Name: "stem.bn.num_batches_tracked", Shape: []int{}, Count: make([]int64, 1)},
	}
}

func trained(classes int) []Tensor {
	live := entries(classes)
	for _, e := range live {
		for i := range e.Value {
			e.Value[i] = float32(i + 1)
		}
		for i := range e.Count {
			e.Count[i] = 42
		}
	}
	return Entries(live)
}

func TestRestore(t *testing.T) {
	live := entries(4)
	require.NoError(t, Restore(live, trained(4)))
	require.Equal(t, []float32{1, 2, 3, 4}, live[1].Value)
	require.Equal(t, []int64{42}, live[2].Count)
}

func TestRestoreRefusesWithoutChange(t *testing.T) {
	for want, stored := range map[string][]Tensor{
		"stored shape [5], network shape [4]": trained(5),
		`"head.cls.bias" is not stored`:       {trained(4)[0], trained(4)[2]},
		"the network has no such entry":       append(trained(4), Float("more", nil, []float32{1})),
		"of the other kind in the network":    {trained(4)[0], trained(4)[1], Float("stem.bn.num_batches_tracked", nil, []float32{1})},
		"float32 cannot hold exactly":         {trained(4)[1], trained(4)[2], Float("stem.conv.weight", []int{2, 1, 1, 1}, []float64{1, 2})},
	} {
		live := entries(4)
		require.ErrorContains(t, Restore(live, stored), want)
		require.Equal(t, entries(4), live)
	}
}

// Weights of another class count load except for the class outputs, which are
// reported.
func TestTransferBetweenClassCounts(t *testing.T) {
	live := entries(4)
	report, err := Transfer(live, append(trained(80), Float("semantic.bias", nil, []float32{1})))
	require.NoError(t, err)
	require.Equal(t, Report{
		Loaded:  []string{"stem.bn.num_batches_tracked", "stem.conv.weight"},
		Skipped: []Skipped{{"head.cls.bias", "stored shape [80], network shape [4]"}, {"semantic.bias", "the network has no such entry"}},
		Missing: []string{"head.cls.bias"},
	}, report)
	require.Equal(t, []float32{1, 2}, live[0].Value)
	require.Equal(t, make([]float32, 4), live[1].Value)
	require.Equal(t, "2 entries loaded, 2 stored tensors skipped, 1 entries kept\n"+
		"skipped head.cls.bias: stored shape [80], network shape [4]\n"+
		"skipped semantic.bias: the network has no such entry\n"+
		"kept head.cls.bias", report.String())

	_, err = Transfer(live, []Tensor{Float("other", nil, []float32{1})})
	require.ErrorContains(t, err, "check task and scale")
}

func TestFloatTensorsRoundTrip(t *testing.T) {
	want := []optim.Tensor[float64]{{Name: "a", Shape: []int{2}, Value: []float64{1. / 3, math.Copysign(0, -1)}}, {Name: "b", Shape: []int{}, Value: []float64{5e-324}}}
	got, err := FloatTensors[float64](Floats(want))
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = FloatTensors[float32](Floats(want))
	require.ErrorContains(t, err, "cannot hold exactly")
	widened, err := FloatTensors[float64](Floats([]optim.Tensor[float32]{{Name: "a", Value: []float32{0.1}}}))
	require.NoError(t, err)
	require.Equal(t, float64(float32(0.1)), widened[0].Value[0])
}

// Tensors of float64 are rounded for a network in single precision and kept for
// one in double; others stay.
func TestRounded(t *testing.T) {
	stored := []Tensor{Float("double", []int{2}, []float64{1. / 3, -1e300}), Float("single", nil, []float32{0.1}), Integer("count", nil, []int64{7})}
	require.Equal(t, stored, Rounded[float64](stored))
	third := float32(1. / 3)
	want := []Tensor{Float("double", []int{2}, []float32{third, float32(math.Inf(-1))}), stored[1], stored[2]}
	require.Equal(t, want, Rounded[float32](stored))
	require.Equal(t, Float("double", []int{2}, []float64{1. / 3, -1e300}), stored[0])
}

// YOLO26 specification, training section 11: the shadow covers everything or
// the overlay is refused.
func TestEvaluationOverlay(t *testing.T) {
	s := example()
	raw, err := s.Evaluation(false)
	require.NoError(t, err)
	require.Equal(t, s.Model, raw)
	average, err := s.Evaluation(true)
	require.NoError(t, err)
	require.Equal(t, []Tensor{s.EMA[0], s.EMA[1], s.Model[2]}, average)
	s.EMA = s.EMA[:1]
	_, err = s.Evaluation(true)
	require.ErrorContains(t, err, `no moving average of "stem.bn.running_mean"`)
}

// A bit, a name, a shape or a counter changes exactly the hash of its family.
func TestHashSeparatesFamilies(t *testing.T) {
	base := Hash(example(), []float64{1, 2})
	require.Len(t, base.Model, 64)
	for name, test := range map[string]struct {
		change func(*State)
		losses []float64
		want   func(*Hashes)
	}{
		"weight bit": {func(s *State) { s.Model[0].data[0] ^= 1 }, nil, func(h *Hashes) { h.Model = "" }},
		"name":       {func(s *State) { s.Model[0].Name = "stem.conv.weighu" }, nil, func(h *Hashes) { h.Model = "" }},
		"shape":      {func(s *State) { s.Model[0].shape = []uint64{1, 2, 1, 1} }, nil, func(h *Hashes) { h.Model = "" }},
		"momentum":   {func(s *State) { s.Momentum = nil }, nil, func(h *Hashes) { h.Optimizer = "" }},
		"scaler":     {func(s *State) { s.Meta.Scaler.Good++ }, nil, func(h *Hashes) { h.Optimizer = "" }},
		"schedule":   {func(s *State) { s.Meta.Schedule.Step++ }, nil, func(h *Hashes) { h.Schedule = "" }},
		"alpha":      {func(s *State) { s.Meta.Schedule.Alpha = 0.8 }, nil, func(h *Hashes) { h.Schedule = "" }},
		"updates":    {func(s *State) { s.Meta.EMA.Updates-- }, nil, func(h *Hashes) { h.EMA = "" }},
		"loss":       {func(*State) {}, []float64{1, 2.0000000000000004}, func(h *Hashes) { h.Losses = "" }},
		"nothing":    {func(s *State) { s.Meta.Epoch++ }, nil, func(*Hashes) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := example()
			test.change(s)
			losses := test.losses
			if losses == nil {
				losses = []float64{1, 2}
			}
			got, want := Hash(s, losses), base
			for _, pair := range [][2]*string{{&got.Model, &want.Model}, {&got.Optimizer, &want.Optimizer}, {&got.Schedule, &want.Schedule}, {&got.EMA, &want.EMA}, {&got.Losses, &want.Losses}} {
				if *pair[0] != *pair[1] {
					*pair[0] = ""
				}
			}
			test.want(&want)
			require.Equal(t, want, got)
		})
	}
}

package golden

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// sampleOf describes a tensor by every stride-th element.
func sampleOf(shape []int, value []float64, stride int) *Sample {
	s := &Sample{Shape: shape}
	var squares float64
	for i, v := range value {
		squares += v * v
		s.Sum += v
		if i%stride == 0 {
			s.Index, s.Value = append(s.Index, i), append(s.Value, v)
		}
	}
	s.L2 = math.Sqrt(squares)
	return s
}

func TestTensorComparison(t *testing.T) {
	base := func() []float64 { return []float64{1, -1, 1, -1, 2, -2, 2, -2} } // rms sqrt(2.5)
	want := sampleOf([]int{2, 4}, base(), 2)
	rms := math.Sqrt(2.5)
	for name, test := range map[string]struct {
		shape    []int
		value    []float64
		measure  Measure
		quantity string
		relative float64
	}{
		"equal":               {[]int{2, 4}, base(), Largest, "l2", 0},
		"sampled":             {[]int{2, 4}, []float64{1, -1, 1, -1, 2.5, -2, 2, -2}, Largest, "value", 0.5 / rms},
		"sampled, L2":         {[]int{2, 4}, []float64{1, -1, 1, -1, 2.5, -2, 2, -2}, RelativeL2, "value", 0.25 / rms},
		"not sampled":         {[]int{2, 4}, []float64{1, -1, 1, -1, 2, -4, 2, -2}, Largest, "l2", math.Sqrt(32./20) - 1},
		"not sampled, sign":   {[]int{2, 4}, []float64{1, -1, 1, -1, 2, 2, 2, -2}, Largest, "sum", 4 / math.Sqrt(8*20)},
		"absent":              {[]int{2, 4}, nil, Largest, "presence", math.Inf(1)},
		"other shape":         {[]int{4, 2}, base(), Largest, "shape", math.Inf(1)},
		"length against shap": {[]int{2, 4}, base()[:7], Largest, "shape", math.Inf(1)},
		"not a number":        {[]int{2, 4}, []float64{1, math.NaN(), 1, -1, 2, -2, 2, -2}, Largest, "l2", math.Inf(1)},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewComparison(test.measure, nil)
			Tensor(c, "gradient", "w", want, test.shape, test.value)
			worst := c.Worst()
			require.Len(t, worst, 1)
			require.Equal(t, test.quantity, worst[0].Quantity)
			if math.IsInf(test.relative, 1) {
				require.Equal(t, test.relative, worst[0].Relative)
			} else {
				require.InDelta(t, test.relative, worst[0].Relative, 1e-12)
			}
			require.Equal(t, test.relative == 0, c.Err() == nil)
		})
	}
}

func TestComparisonOfAbsentAndZero(t *testing.T) {
	c := NewComparison(Largest, nil)
	Tensor[float32](c, "gradient", "absent", nil, []int{2}, nil)
	zero := sampleOf([]int{2}, []float64{0, 0}, 1)
	Tensor(c, "gradient", "zero", zero, []int{2}, []float32{0, 0})
	Tensor(c, "gradient", "zero", zero, []int{2}, []float32{0, float32(math.Copysign(0, -1))})
	require.NoError(t, c.Err())
	Tensor(c, "gradient", "zero", zero, []int{2}, []float32{0, 1e-30})
	require.ErrorContains(t, c.Err(), "gradient zero: l2 deviates by +Inf")

	c = NewComparison(Largest, nil)
	Tensor(c, "gradient", "w", nil, []int{2}, []float32{0, 0})
	require.ErrorContains(t, c.Err(), "want absent, got values")
}

// The worst of every kind is kept, and the first beyond its own tolerance.
func TestComparisonReportsWorstAndFirst(t *testing.T) {
	c := NewComparison(Largest, map[string]float64{"loss": 0.1, "norm": 0.01})
	c.Scalar("loss", "a", 2, 2.1)
	c.Scalar("norm", "b", 100, 102)
	c.Scalar("loss", "c", -2, -2.4)
	c.Scalar("norm", "d", 100, 103)
	require.EqualError(t, c.Err(), "norm b: scalar deviates by 0.02: want 100, got 102; the tolerance is 0.01")
	worst := c.Worst()
	require.Equal(t, []string{"c", "d"}, []string{worst[0].Name, worst[1].Name})
	require.InDelta(t, 0.2, worst[0].Relative, 1e-12)

	c = NewComparison(Largest, map[string]float64{"zero": 1})
	c.Scalar("zero", "exact", 0, 0)
	require.NoError(t, c.Err())
	c.Scalar("zero", "near", 0, 1e-300)
	require.Error(t, c.Err())
}

// The probe notices an exchange of elements or names that l2 cannot.
func TestFamilyProbe(t *testing.T) {
	summarise := func(names ...string) Family {
		s := NewSummary(21)
		AddTensor(s, names[0], []float64{1, 2})
		AddTensor(s, names[1], []float64{3, 4})
		return s.Family()
	}
	want := summarise("a", "b")
	require.InDelta(t, math.Sqrt(30), want.L2, 1e-15)
	a, b := NewRule(21).Stream("probe.a"), NewRule(21).Stream("probe.b")
	require.InDelta(t, a.U(0)+2*a.U(1)+3*b.U(0)+4*b.U(1), want.Probe, 1e-15)

	c := NewComparison(Largest, map[string]float64{"momentum": 1e-9})
	c.Family("momentum", want, summarise("a", "b"))
	require.NoError(t, c.Err())
	c.Family("momentum", want, summarise("b", "a"))
	require.ErrorContains(t, c.Err(), "momentum all: probe deviates")
}

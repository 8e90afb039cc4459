package optim

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func newOptimizer(t *testing.T, options MuSGDOptions) *MuSGD[float64] {
	return optimizer[float64](t, home(t), options)
}

// momentum returns the stored buffer of a name, nil when there is none.
func momentum(o *MuSGD[float64], name string) []float64 {
	for _, s := range o.State() {
		if s.Name == name {
			return s.Value
		}
	}
	return nil
}

// YOLO26 specification, training section 4.6. Field cases GR-01 and GR-02: an
// absent gradient moves nothing, a zero gradient moves weight and momentum.
func TestMuSGDVectors(t *testing.T) {
	gradient := []float64{0.1, 0.2, -0.3, 0.4, -0.5, 0.6}
	zero := make([]float64, 6)
	first := []float64{0.99812796, -1.00232340, 0.50365230, 0.24528788, 2.00552717, -0.75657597}
	for _, test := range []struct {
		name      string
		gradients [][]float64
		want      [][]float64 // weights after each step
		momentum  []float64   // last momentum in units of the gradient
	}{
		{"constant", [][]float64{gradient, gradient, gradient}, [][]float64{
			first,
			{0.99580467, -1.00554929, 0.50865833, 0.23877078, 2.01331056, -0.76585941},
			{0.99305272, -1.00963254, 0.51495039, 0.23053897, 2.02323734, -0.77771493},
		}, []float64{2.8525}},
		{"zero", [][]float64{gradient, zero}, [][]float64{
			first,
			{0.99677967, -1.00359929, 0.50573333, 0.24267078, 2.00843556, -0.76000941},
		}, []float64{0.95}},
		{"absent", [][]float64{gradient, nil}, [][]float64{first, first}, []float64{1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOptimizer(t, DefaultMuSGDOptions())
			w := []float64{1, -1, 0.5, 0.25, 2, -0.75}
			for i, g := range test.gradients {
				before := slices.Clone(w)
				require.NoError(t, o.Step(0.01, []Parameter[float64]{{Name: "w", Shape: []int{2, 3}, Value: w, Gradient: g}}))
				require.InDeltaSlice(t, test.want[i], w, 6e-9, "step %d", i+1)
				if g == nil {
					require.Equal(t, before, w)
				}
			}
			m := momentum(o, "w")
			for i := range gradient {
				require.InDelta(t, test.momentum[0]*gradient[i], m[i], 1e-15)
			}
		})
	}
}

func TestMuSGDVector(t *testing.T) {
	o := newOptimizer(t, DefaultMuSGDOptions())
	w := []float64{0.5, -0.5}
	p := []Parameter[float64]{{Name: "w", Shape: []int{2}, Value: w, Gradient: []float64{0.1, -0.2}}}
	require.NoError(t, o.Step(0.01, p))
	require.InDeltaSlice(t, []float64{0.49805, -0.49610}, w, 1e-12)
	require.NoError(t, o.Step(0.01, p))
	require.InDeltaSlice(t, []float64{0.4951975, -0.4903950}, w, 1e-12)
}

// Field case GR-11: a zero gradient without momentum gives a finite, exactly
// zero update; an absent one creates no state.
func TestMuSGDZeroAndAbsentWithoutMomentum(t *testing.T) {
	options := DefaultMuSGDOptions()
	options.WeightDecay = 0
	o := newOptimizer(t, options)
	value := make([]float64, 8*27)
	for i := range value {
		value[i] = float64(i) - 100
	}
	before := slices.Clone(value)
	shape := []int{8, 3, 3, 3}
	require.NoError(t, o.Step(0.01, []Parameter[float64]{{Name: "w", Shape: shape, Value: value}}))
	require.Empty(t, o.State())
	require.NoError(t, o.Step(0.01, []Parameter[float64]{{Name: "w", Shape: shape, Value: value, Gradient: make([]float64, len(value))}}))
	require.Equal(t, before, value)
	require.Equal(t, make([]float64, len(value)), momentum(o, "w"))
}

// Field case PO-14: a (C,1,1) gain takes the vector rule, without weight decay.
func TestMuSGDMatricesAreRankTwoAndFour(t *testing.T) {
	const gradient, momentumGain = 0.5, 1.95 // v = g + mu*g
	for _, test := range []struct {
		shape  []int
		matrix bool
	}{{nil, false}, {[]int{8}, false}, {[]int{8, 1, 1}, false}, {[]int{8, 1}, true}, {[]int{8, 1, 1, 1}, true}, {[]int{1, 2, 2, 2, 1}, false}} {
		size := 1
		for _, d := range test.shape {
			size *= d
		}
		w, g := make([]float64, size), make([]float64, size)
		for i := range w {
			w[i], g[i] = 1, gradient
		}
		require.NoError(t, newOptimizer(t, DefaultMuSGDOptions()).Step(0.1, []Parameter[float64]{{Name: "gain", Shape: test.shape, Value: w, Gradient: g}}))
		want := 1 - 0.1*momentumGain*gradient
		if test.matrix {
			require.Greater(t, math.Abs(w[0]-want), 1e-3, "%v", test.shape)
		} else {
			require.InDelta(t, want, w[0], 1e-15, "%v", test.shape)
		}
	}
}

// With w_muon 0 the orthogonalisation does not run, so the NaN that it makes of
// an infinite gradient stays out of the other elements.
func TestMuSGDWithoutMuonSkipsOrthogonalisation(t *testing.T) {
	step := func(muon float64) []float64 {
		w := make([]float64, 4)
		options := MuSGDOptions{Momentum: 0.95, WMuon: muon, WSGD: 1, NSSteps: 5}
		require.NoError(t, newOptimizer(t, options).Step(0.1, []Parameter[float64]{{
			Name: "w", Shape: []int{2, 2}, Value: w, Gradient: []float64{math.Inf(1), 0, 0, 0},
		}}))
		return w
	}
	require.Equal(t, []float64{math.Inf(-1), 0, 0, 0}, step(0))
	require.True(t, math.IsNaN(step(0.5)[0]))
}

func TestMuSGDRefusesWithoutChange(t *testing.T) {
	good := func() Parameter[float64] {
		return Parameter[float64]{Name: "a", Shape: []int{2}, Value: []float64{1, 2}, Gradient: []float64{1, 1}}
	}
	for name, test := range map[string]struct {
		change func(*Parameter[float64])
		lr     float64
		want   string
	}{
		"duplicate":        {func(*Parameter[float64]) {}, 0.1, `parameter "a" is listed twice`},
		"no name":          {func(p *Parameter[float64]) { p.Name = "" }, 0.1, "no name"},
		"value length":     {func(p *Parameter[float64]) { p.Name, p.Shape = "b", []int{3} }, 0.1, `"b" has shape [3]`},
		"gradient length":  {func(p *Parameter[float64]) { p.Name, p.Gradient = "b", []float64{1} }, 0.1, "gradient of 1"},
		"zero dimension":   {func(p *Parameter[float64]) { p.Name, p.Shape, p.Value = "b", []int{0}, nil }, 0.1, "every dimension must be positive"},
		"learning rate":    {func(p *Parameter[float64]) { p.Name = "b" }, math.NaN(), "must be finite"},
		"overflowing size": {func(p *Parameter[float64]) { p.Name, p.Shape = "b", []int{1 << 40, 1 << 40} }, 0.1, "representable"},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := good(), good()
			test.change(&second)
			o := newOptimizer(t, DefaultMuSGDOptions())
			require.ErrorContains(t, o.Step(test.lr, []Parameter[float64]{first, second}), test.want)
			require.Equal(t, good().Value, first.Value)
			require.Empty(t, o.State())
		})
	}
	o := newOptimizer(t, DefaultMuSGDOptions())
	p := good()
	require.NoError(t, o.Step(0.1, []Parameter[float64]{p}))
	p.Shape = []int{2, 1}
	require.ErrorContains(t, o.Step(0.1, []Parameter[float64]{p}), "the optimizer knows it with [2]")
}

func TestMuSGDOptionsAreChecked(t *testing.T) {
	for want, change := range map[string]func(*MuSGDOptions){
		"momentum is 1":       func(o *MuSGDOptions) { o.Momentum = 1 },
		"weight_decay is -1":  func(o *MuSGDOptions) { o.WeightDecay = -1 },
		"w_muon is NaN":       func(o *MuSGDOptions) { o.WMuon = math.NaN() },
		"w_sgd is +Inf":       func(o *MuSGDOptions) { o.WSGD = math.Inf(1) },
		"ns_steps is 0":       func(o *MuSGDOptions) { o.NSSteps = 0 },
		"momentum is NaN; it": func(o *MuSGDOptions) { o.Momentum = math.NaN() },
	} {
		options := DefaultMuSGDOptions()
		change(&options)
		_, err := NewMuSGD[float32](home(t), options)
		require.ErrorContains(t, err, want)
	}
}

// Bits must not depend on how many goroutines share the work, nor on the order
// of the list.
func TestMuSGDIsIndependentOfParallelism(t *testing.T) {
	run := func(workers int, reverse bool) map[string][]float32 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
		o := optimizer[float32](t, home(t), DefaultMuSGDOptions())
		parameters := drawn[float32](smallShapes, 3)
		if reverse {
			slices.Reverse(parameters)
		}
		for range 3 {
			require.NoError(t, o.Step(0.01, parameters))
		}
		result := map[string][]float32{}
		for _, p := range parameters {
			result[p.Name] = p.Value
		}
		return result
	}
	want := run(1, false)
	for _, workers := range []int{1, 2, 7} {
		require.Equal(t, want, run(workers, false), "GOMAXPROCS %d", workers)
		require.Equal(t, want, run(workers, true), "GOMAXPROCS %d, reversed", workers)
	}
}

// Field case LC-09: a parameter group added in the middle of a fit takes part
// from then on and leaves the others as they would be without it.
func TestMuSGDAcceptsParametersAddedLater(t *testing.T) {
	run := func(add bool) ([]float32, int) {
		o := optimizer[float32](t, home(t), DefaultMuSGDOptions())
		parameters := drawn[float32](smallShapes[:4], 5)
		for step := range 5 {
			if add && step == 3 {
				parameters = append(parameters, drawn[float32]([][]int{{300, 200}}, 6)[0])
				parameters[4].Name = "added"
			}
			require.NoError(t, o.Step(0.01, parameters))
		}
		return parameters[2].Value, len(o.State())
	}
	alone, count := run(false)
	require.Equal(t, 4, count)
	joined, count := run(true)
	require.Equal(t, 5, count)
	require.Equal(t, alone, joined)
}

func TestMuSGDStateRoundTrip(t *testing.T) {
	steps := func(o *MuSGD[float32], parameters []Parameter[float32], n int) {
		for range n {
			require.NoError(t, o.Step(0.01, parameters))
		}
	}
	unbroken := optimizer[float32](t, home(t), DefaultMuSGDOptions())
	parameters := drawn[float32](smallShapes, 8)
	steps(unbroken, parameters, 2)
	state := unbroken.State()
	require.True(t, slices.IsSortedFunc(state, func(a, b Tensor[float32]) int { return strings.Compare(a.Name, b.Name) }))
	resumedParameters := slices.Clone(parameters)
	for i := range resumedParameters {
		resumedParameters[i].Value = slices.Clone(resumedParameters[i].Value)
	}
	steps(unbroken, parameters, 2)

	resumed := optimizer[float32](t, home(t), DefaultMuSGDOptions())
	require.NoError(t, resumed.Restore(state))
	clear(state[0].Value) // the optimizer keeps copies
	steps(resumed, resumedParameters, 2)
	require.Equal(t, parameters, resumedParameters)
	require.Equal(t, unbroken.State(), resumed.State())

	require.ErrorContains(t, resumed.Restore([]Tensor[float32]{{Name: "a", Shape: []int{2}, Value: []float32{1}}}), "momentum: ")
	require.ErrorContains(t, resumed.Restore([]Tensor[float32]{{Name: "a", Value: []float32{1}}, {Name: "a", Value: []float32{1}}}), "listed twice")
	require.Equal(t, unbroken.State(), resumed.State())
}

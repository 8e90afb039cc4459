package objective

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// worked is the example of section 2.9.
func worked() []Point {
	return []Point{{
		Predicted: geometry.Point{X: 0.4, Y: 0.5}, Target: geometry.Point{X: 0.5, Y: 0.25},
		RawSpread: geometry.Point{X: 0, Y: -1},
	}}
}

func TestLaplaceExample(t *testing.T) {
	axes := worked()[0].axes()
	near(t, 0.5, axes[0].spread)
	near(t, 0.268941421, axes[1].spread)
	near(t, 0.2, axes[0].residual)
	near(t, -0.929570457, axes[1].residual)
	value, slopes, gradient := LaplaceTerm(worked(), nil)
	near(t, 0.50945595, value)
	require.Nil(t, gradient)
	for i, want := range []float64{-2, 3.71828183, 0.4, 0.0514881215} {
		near(t, want, slopes[0][i])
	}
}

func TestIdentityFlowExample(t *testing.T) {
	logDensity, _, _ := NewFlow().LogDensity([][2]float64{{0.2, worked()[0].axes()[1].residual}})
	near(t, 2.28992768, -logDensity[0])
	value, slopes, gradient := RLETerm(worked(), NewFlow())
	near(t, 2.79938363, value)
	for i, want := range []float64{-2.4, 7.17468677, 0.38, -0.580220499} {
		near(t, want, slopes[0][i])
	}
	require.NotNil(t, gradient)
}

// The last bias is (0.2, -0.3) in every layer.
func TestBiasedFlowExample(t *testing.T) {
	flow := NewFlow()
	for i := range flow.layers {
		copy(flow.layers[i].maps[2].bias, []float64{0.2, -0.3})
	}
	residual := [2]float64{0.2, worked()[0].axes()[1].residual}
	run := newDensityRun(flow, [][2]float64{residual})
	values := make([]float64, 1)
	run.forward(values)
	near(t, 0.19737532, run.layers[3].logScale[0])
	near(t, -0.003, run.layers[3].out.Data[1])
	near(t, 0.116773653, run.at[0][0])
	near(t, -0.508048311, run.at[0][1])
	near(t, -3.15800357, values[0])
	squares := run.at[0][0]*run.at[0][0] + run.at[0][1]*run.at[0][1]
	near(t, -1.18425192, values[0]+squares/2+math.Log(2*math.Pi))
	value, _, _ := RLETerm(worked(), flow)
	near(t, 3.66745952, value)

	flow.open = true
	run = newDensityRun(flow, [][2]float64{residual})
	run.forward(make([]float64, 1))
	near(t, -0.3, run.layers[0].out.Data[1])
}

// The frame example of section 2.9: a side below 1 px counts as 1 px too.
func TestFrame(t *testing.T) {
	inside := newFrame(yolo26.Box{X1: 20, Y1: 40, X2: 60, Y2: 48.5}).inside(geometry.Point{X: 30, Y: 44})
	near(t, 0.25, inside.X)
	near(t, 0.470588235, inside.Y)
	inside = newFrame(yolo26.Box{X1: 20, Y1: 40, X2: 20.5, Y2: 40}).inside(geometry.Point{X: 22, Y: 41})
	require.Equal(t, geometry.Point{X: 2, Y: 1}, inside)
}

func TestFlowSize(t *testing.T) {
	elements, names := 0, map[string]bool{}
	for _, p := range FlowParameters() {
		n := 1
		for _, d := range p.Shape {
			n *= d
		}
		elements += n
		names[p.Name] = true
	}
	require.Equal(t, 26514, elements)
	require.Len(t, names, 42)
	require.True(t, names["rle_loss.layers.5.1.weight"] && names["rle_loss.layers.0.gain"])
}

// scattered are points with residuals of all sizes.
func scattered(count int) []Point {
	out := make([]Point, count)
	for i := range out {
		f := float64(i)
		out[i] = Point{
			Predicted: geometry.Point{X: math.Sin(f), Y: math.Cos(3 * f)}, Target: geometry.Point{X: math.Sin(f + 1), Y: math.Cos(f * f)},
			RawSpread: geometry.Point{X: math.Sin(5 * f), Y: math.Cos(7*f) - 1},
		}
	}
	return out
}

// Points beyond a chunk are treated as those within, and derivatives by
// parameters add up.
func TestManyPointsAreTheSumOfSingleOnes(t *testing.T) {
	residuals := make([][2]float64, chunk+3)
	for i := range residuals {
		residuals[i] = [2]float64{math.Sin(float64(i)), math.Cos(3 * float64(i))}
	}
	flow := randomFlow(4)
	values, slopes, gradient := flow.LogDensity(residuals)
	want := zeroFlow()
	for i, residual := range residuals {
		value, by, part := flow.LogDensity([][2]float64{residual})
		require.InDelta(t, value[0], values[i], 1e-12)
		require.InDelta(t, by[0][0], slopes[i][0], 1e-12)
		require.InDelta(t, by[0][1], slopes[i][1], 1e-12)
		want.addScaled(1, part)
	}
	for i, sum := range want.slices() {
		require.InDeltaSlice(t, sum, gradient.slices()[i], 1e-9)
	}
}

// Derivatives by points, spreads and every kind of parameter.
func TestLikelihoodDerivatives(t *testing.T) {
	rows := scattered(6)
	for name, term := range map[string]KeypointTerm{"laplace": LaplaceTerm, "rle": RLETerm} {
		for _, open := range []bool{false, true} {
			flow := randomFlow(4)
			flow.open = open
			_, slopes, gradient := term(rows, flow)
			f := func() float64 { v, _, _ := term(rows, flow); return v }
			for i := range rows {
				for k, variable := range []*float64{&rows[i].Predicted.X, &rows[i].Predicted.Y, &rows[i].RawSpread.X, &rows[i].RawSpread.Y} {
					require.InDelta(t, slope(variable, f), slopes[i][k], 1e-7, "%s %d %d", name, i, k)
				}
			}
			if gradient == nil {
				continue
			}
			by := gradient.slices()
			for i, values := range flow.slices() {
				k := 13 * i % len(values)
				require.InDelta(t, slope(&values[k], f), by[i][k], 1e-7, "%s[%d]", FlowParameters()[i].Name, k)
			}
		}
	}
}

func TestNoPoints(t *testing.T) {
	value, slopes, gradient := RLETerm(nil, randomFlow(1))
	require.Zero(t, value)
	require.NotNil(t, slopes)
	require.Empty(t, slopes)
	require.Equal(t, zeroFlow(), gradient, "zero, not absent")
}

// Field case YO-17: 200 px of error at the smallest spread. Below the floor the
// spread has no derivative.
func TestExtremeResidualsStayFinite(t *testing.T) {
	rows := []Point{{Predicted: geometry.Point{X: 200}, RawSpread: geometry.Point{X: -40, Y: 40}}}
	value, slopes, gradient := RLETerm(rows, randomFlow(2))
	require.True(t, yolo26.Finite([]float64{value}, slopes[0][:]))
	require.True(t, gradient.finite())
	require.Zero(t, slopes[0][2])
	require.NotZero(t, slopes[0][0])
	require.Equal(t, leastSpread, rows[0].axes()[0].spread)
}

// Field case YO-18: a likelihood below 0 is not clamped, so its derivatives stay.
func TestNegativeLikelihoodIsNotClamped(t *testing.T) {
	rows := []Point{{RawSpread: geometry.Point{X: -9, Y: -9}}}
	value, slopes, _ := LaplaceTerm(rows, nil)
	require.Negative(t, value)
	require.Positive(t, slopes[0][2])
	require.Positive(t, slopes[0][3])
}

package objective

import (
	"fmt"
	"math"
	"slices"

	"github.com/reprise-ml/reprise/runtime/device"
)

const (
	couplings = 6
	hidden    = 64 // width of a conditioner

	// leak is the slope of the conditioners' activation below 0.
	leak = 0.01
)

// Flow is a learnt density of two coordinates: affine coupling layers between
// them and a standard normal distribution (residual log-likelihood estimation,
// arXiv:2107.11291; YOLO26 specification, objective section 2.9). Layer i moves
// coordinate i mod 2, conditioned on the other. A Flow also holds derivatives by
// its parameters.
type Flow struct {
	layers [couplings]coupling
	open   bool // no activation behind the conditioners' last linear map
}

// coupling is one layer: the scale of its logarithms and its conditioner, maps
// from 1 to 64, to 64 and to 2 numbers.
type coupling struct {
	gain []float64 // one element
	maps [3]linear
}

// linear holds a weight, (out, in) row-major, and a bias.
type linear struct{ weight, bias []float64 }

// widths are the numbers between the linear maps of a conditioner.
var widths = [4]int{1, hidden, hidden, 2}

// NewFlow returns a flow with every parameter 0 but the gains, which are 1. It
// is the identity.
func NewFlow() *Flow {
	f := zeroFlow()
	for i := range f.layers {
		f.layers[i].gain[0] = 1
	}
	return f
}

func zeroFlow() *Flow {
	f := &Flow{}
	for i := range f.layers {
		f.layers[i].gain = make([]float64, 1)
		for j := range f.layers[i].maps {
			f.layers[i].maps[j] = linear{make([]float64, widths[j+1]*widths[j]), make([]float64, widths[j+1])}
		}
	}
	return f
}

// FlowParameter describes one parameter of a flow: its state-entry name, its
// shape, and its start, uniform in ±Bound, or Value everywhere when Bound is 0.
type FlowParameter struct {
	Name         string
	Shape        []int
	Bound, Value float64
}

// FlowParameters lists the parameters of a flow: the gains start at 1, weights
// and biases within 1/sqrt(fan in).
func FlowParameters() []FlowParameter {
	var out []FlowParameter
	for i := range couplings {
		layer := fmt.Sprintf("rle_loss.layers.%d.", i)
		out = append(out, FlowParameter{Name: layer + "gain", Shape: []int{1}, Value: 1})
		for j := range len(widths) - 1 {
			bound := 1 / math.Sqrt(float64(widths[j]))
			out = append(out,
				FlowParameter{Name: fmt.Sprintf("%s%d.weight", layer, j), Shape: []int{widths[j+1], widths[j]}, Bound: bound},
				FlowParameter{Name: fmt.Sprintf("%s%d.bias", layer, j), Shape: []int{widths[j+1]}, Bound: bound})
		}
	}
	return out
}

// slices lists the parameters in the order of FlowParameters.
func (f *Flow) slices() [][]float64 {
	var out [][]float64
	for i := range f.layers {
		out = append(out, f.layers[i].gain)
		for j := range f.layers[i].maps {
			out = append(out, f.layers[i].maps[j].weight, f.layers[i].maps[j].bias)
		}
	}
	return out
}

// FlowFrom reads a flow from values in the order and the sizes of
// FlowParameters.
func FlowFrom[T device.Float](values [][]T) (*Flow, error) {
	f := zeroFlow()
	parameters, into := FlowParameters(), f.slices()
	if len(values) != len(into) {
		return nil, fmt.Errorf("%d parameters for a flow that has %d; give them as FlowParameters lists them", len(values), len(into))
	}
	for i, from := range values {
		if len(from) != len(into[i]) {
			return nil, fmt.Errorf("%s has %d elements, not %d; give it as FlowParameters lists it", parameters[i].Name, len(from), len(into[i]))
		}
		for k, v := range from {
			into[i][k] = float64(v)
		}
	}
	return f, nil
}

// FlowValues gives the values of a flow in the order of FlowParameters.
func FlowValues[T device.Float](f *Flow) [][]T {
	var out [][]T
	for _, from := range f.slices() {
		values := make([]T, len(from))
		for k, v := range from {
			values[k] = T(v)
		}
		out = append(out, values)
	}
	return out
}

// addScaled adds factor times other to f.
func (f *Flow) addScaled(factor float64, other *Flow) {
	from := other.slices()
	for i, into := range f.slices() {
		for k := range into {
			into[k] += factor * from[i][k]
		}
	}
}

// finite reports whether every parameter is a finite number.
func (f *Flow) finite() bool {
	return !slices.ContainsFunc(f.slices(), func(values []float64) bool {
		return slices.ContainsFunc(values, func(v float64) bool { return v-v != 0 })
	})
}

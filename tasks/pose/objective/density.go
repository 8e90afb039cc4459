package objective

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// chunk is how many points are taken through the flow together. It bounds the
// memory and is the same on every machine, so that sums have one order.
const chunk = 256

// LogDensity returns the logarithm of the density at every point, its
// derivative by the point, and the sum over all points of its derivatives by the
// parameters of the flow.
func (f *Flow) LogDensity(points [][2]float64) (values []float64, slopes [][2]float64, gradient *Flow) {
	values, slopes = make([]float64, len(points)), make([][2]float64, len(points))
	parts := make([]*Flow, (len(points)+chunk-1)/chunk)
	yolo26.Each(len(parts), func(i int) {
		from, to := i*chunk, min((i+1)*chunk, len(points))
		run := newDensityRun(f, points[from:to])
		run.forward(values[from:to])
		parts[i] = run.backward(slopes[from:to])
	})
	gradient = zeroFlow()
	for _, part := range parts {
		gradient.addScaled(1, part)
	}
	return values, slopes, gradient
}

// densityRun takes n points through the flow, against its direction, and back.
type densityRun struct {
	flow   *Flow
	n      int
	at     [][2]float64 // where the points are
	layers [couplings]layerRun
}

// layerRun is what the way back needs of one layer. Matrices have n rows.
type layerRun struct {
	condition     []float64
	first, second blas64.General // after activation, n x 64
	out           blas64.General // after activation, n x 2
	logScale      []float64
	bent          []float64 // tanh of the first output
	latent        []float64 // the moved coordinate after the layer
}

func newDensityRun(f *Flow, points [][2]float64) *densityRun {
	return &densityRun{flow: f, n: len(points), at: append([][2]float64(nil), points...)}
}

func matrix(rows, columns int) blas64.General {
	return blas64.General{Rows: rows, Cols: columns, Stride: columns, Data: make([]float64, rows*columns)}
}

func (l linear) matrix(out, in int) blas64.General {
	return blas64.General{Rows: out, Cols: in, Stride: in, Data: l.weight}
}

// forward moves the points through the layers in reverse to the standard normal
// distribution.
func (r *densityRun) forward(values []float64) {
	for i := couplings - 1; i >= 0; i-- {
		layer := r.condition(i)
		moved := i % 2
		for p := range r.at {
			shift := layer.out.Data[2*p+1]
			r.at[p][moved] = (r.at[p][moved] - shift) * math.Exp(-layer.logScale[p])
			layer.latent[p] = r.at[p][moved]
			values[p] -= layer.logScale[p]
		}
	}
	for p, latent := range r.at {
		values[p] -= (latent[0]*latent[0]+latent[1]*latent[1])/2 + math.Log(2*math.Pi)
	}
}

// condition runs the conditioner of a layer on the coordinate that stays.
func (r *densityRun) condition(i int) *layerRun {
	c, layer := &r.flow.layers[i], &r.layers[i]
	layer.condition = make([]float64, r.n)
	layer.first, layer.second, layer.out = matrix(r.n, hidden), matrix(r.n, hidden), matrix(r.n, 2)
	for p, at := range r.at {
		layer.condition[p] = at[1-i%2]
		row := layer.first.Data[p*hidden : (p+1)*hidden]
		for k := range row {
			row[k] = leaky(c.maps[0].weight[k]*layer.condition[p] + c.maps[0].bias[k])
		}
	}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, layer.first, c.maps[1].matrix(hidden, hidden), 0, layer.second)
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, r.activate(layer.second, c.maps[1].bias, false), c.maps[2].matrix(2, hidden), 0, layer.out)
	r.activate(layer.out, c.maps[2].bias, r.flow.open)
	layer.logScale, layer.bent, layer.latent = make([]float64, r.n), make([]float64, r.n), make([]float64, r.n)
	for p := range r.n {
		layer.bent[p] = math.Tanh(layer.out.Data[2*p])
		layer.logScale[p] = c.gain[0] * layer.bent[p]
	}
	return layer
}

// activate adds the bias to every row, and bends the result unless it is open.
func (r *densityRun) activate(m blas64.General, bias []float64, open bool) blas64.General {
	for p := range r.n {
		row := m.Data[p*m.Stride : p*m.Stride+m.Cols]
		for k := range row {
			row[k] += bias[k]
			if !open {
				row[k] = leaky(row[k])
			}
		}
	}
	return m
}

func leaky(x float64) float64 {
	if x > 0 {
		return x
	}
	return leak * x
}

// leakySlope is the derivative of leaky by its argument, read off its result,
// which has the same sign.
func leakySlope(y float64) float64 {
	if y > 0 {
		return 1
	}
	return leak
}

// backward carries the derivatives of the logarithms back to the points and
// sums those by the parameters.
func (r *densityRun) backward(slopes [][2]float64) *Flow {
	gradient := zeroFlow()
	for p, latent := range r.at {
		slopes[p] = [2]float64{-latent[0], -latent[1]}
	}
	for i := range couplings {
		layer, moved := &r.layers[i], i%2
		out := matrix(r.n, 2)
		gain := r.flow.layers[i].gain[0]
		for p := range r.n {
			latent, slope := layer.latent[p], slopes[p][moved]
			shrink := math.Exp(-layer.logScale[p])
			slopes[p][moved] = slope * shrink
			byLogScale := -slope*latent - 1
			gradient.layers[i].gain[0] += byLogScale * layer.bent[p]
			out.Data[2*p] = byLogScale * gain * (1 - layer.bent[p]*layer.bent[p])
			out.Data[2*p+1] = -slope * shrink
		}
		if !r.flow.open {
			bend(out, layer.out)
		}
		r.conditionBack(i, out, gradient, slopes)
	}
	return gradient
}

// conditionBack is the way back through the conditioner of a layer.
func (r *densityRun) conditionBack(i int, out blas64.General, gradient *Flow, slopes [][2]float64) {
	c, layer, into := &r.flow.layers[i], &r.layers[i], &gradient.layers[i]
	second := r.linearBack(out, layer.second, c.maps[2].matrix(2, hidden), &into.maps[2])
	bend(second, layer.second)
	first := r.linearBack(second, layer.first, c.maps[1].matrix(hidden, hidden), &into.maps[1])
	bend(first, layer.first)
	for p := range r.n {
		by := 0.0
		for k, d := range first.Data[p*hidden : (p+1)*hidden] {
			into.maps[0].weight[k] += d * layer.condition[p]
			into.maps[0].bias[k] += d
			by += d * c.maps[0].weight[k]
		}
		slopes[p][1-i%2] += by
	}
}

// linearBack adds the derivatives by weight and bias and returns those by the
// input.
func (r *densityRun) linearBack(out, in, weight blas64.General, into *linear) blas64.General {
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, out, in, 1, blas64.General{Rows: weight.Rows, Cols: weight.Cols, Stride: weight.Stride, Data: into.weight})
	for p := range r.n {
		for k, d := range out.Data[p*out.Stride : p*out.Stride+out.Cols] {
			into.bias[k] += d
		}
	}
	slopes := matrix(r.n, in.Cols)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, out, weight, 0, slopes)
	return slopes
}

// bend multiplies derivatives by those of the activation.
func bend(slopes, results blas64.General) {
	for k, y := range results.Data {
		slopes.Data[k] *= leakySlope(y)
	}
}

package host

import (
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
)

// This file holds the kernels again, written from their formulas in float64 on
// row-major slices, as references.

// shape4 indexes a row-major map (N, C, H, W).
type shape4 struct{ n, c, h, w int }

func (s shape4) at(n, c, i, j int) int { return ((n*s.c+c)*s.h+i)*s.w + j }
func (s shape4) size() int             { return s.n * s.c * s.h * s.w }
func (s shape4) list() []int           { return []int{s.n, s.c, s.h, s.w} }

// convShape is the geometry of a convolution.
type convShape struct {
	x                      shape4
	cout                   int
	kernel, stride, groups int
}

func (s convShape) y() shape4 {
	return shape4{s.x.n, s.cout, (s.x.h-1)/s.stride + 1, (s.x.w-1)/s.stride + 1}
}
func (s convShape) weight() shape4 { return shape4{s.cout, s.x.c / s.groups, s.kernel, s.kernel} }

// products calls visit for every product of a convolution, with the positions
// of its result, its input and its weight.
func (s convShape) products(visit func(y, x, w int)) {
	y, w, pad := s.y(), s.weight(), (s.kernel-1)/2
	for n := range y.n {
		for o := range y.c {
			first := o / (s.cout / s.groups) * w.c
			for i := range y.h {
				for j := range y.w {
					for c := range w.c {
						for u := range s.kernel {
							for v := range s.kernel {
								a, b := i*s.stride+u-pad, j*s.stride+v-pad
								if a >= 0 && b >= 0 && a < s.x.h && b < s.x.w {
									visit(y.at(n, o, i, j), s.x.at(n, first+c, a, b), w.at(o, c, u, v))
								}
							}
						}
					}
				}
			}
		}
	}
}

// numericGradient is the gradient of sum(dY * f(x)) by central differences.
func numericGradient(f func(x []float64) []float64, x, dY []float64) []float64 {
	const step = 1e-5
	out := make([]float64, len(x))
	moved := append([]float64(nil), x...)
	for i := range x {
		moved[i] = x[i] + step
		above := f(moved)
		moved[i] = x[i] - step
		below := f(moved)
		moved[i] = x[i]
		for j := range dY {
			out[i] += dY[j] * (above[j] - below[j]) / (2 * step)
		}
	}
	return out
}

func referenceActivation(f ir.Function, slope, x float64) float64 {
	switch f {
	case ir.SiLU:
		return x / (1 + math.Exp(-x))
	case ir.Sigmoid:
		return 1 / (1 + math.Exp(-x))
	case ir.Tanh:
		return math.Tanh(x)
	case ir.ReLU:
		return math.Max(x, 0)
	case ir.LeakyReLU:
		if x < 0 {
			return slope * x
		}
	}
	return x
}

// moments gives mean and biased variance per channel.
func moments(s shape4, x []float64) (mean, variance []float64) {
	mean, variance = make([]float64, s.c), make([]float64, s.c)
	m := float64(s.n * s.h * s.w)
	for pass := range 2 {
		for n := range s.n {
			for c := range s.c {
				for p := range s.h * s.w {
					v := x[(n*s.c+c)*s.h*s.w+p]
					if pass == 0 {
						mean[c] += v / m
					} else {
						variance[c] += (v - mean[c]) * (v - mean[c]) / m
					}
				}
			}
		}
	}
	return mean, variance
}

// referenceNormalize is act((x - mean) * rstd * scale + shift).
func referenceNormalize(s shape4, x, mean, rstd, scale, shift []float64, f ir.Function, slope float64) []float64 {
	y := make([]float64, s.size())
	for n := range s.n {
		for c := range s.c {
			for p := range s.h * s.w {
				at := (n*s.c+c)*s.h*s.w + p
				y[at] = referenceActivation(f, slope, (x[at]-mean[c])*rstd[c]*scale[c]+shift[c])
			}
		}
	}
	return y
}

func rstdOf(variance []float64, epsilon float64) []float64 {
	out := make([]float64, len(variance))
	for i, v := range variance {
		out[i] = 1 / math.Sqrt(v+epsilon)
	}
	return out
}

// referenceMaxPool gives largest elements and their positions in the windows.
func referenceMaxPool(s, y shape4, kernel, stride, padding int, x []float64) (largest, index []float64) {
	largest, index = make([]float64, y.size()), make([]float64, y.size())
	for n := range y.n {
		for c := range y.c {
			for i := range y.h {
				for j := range y.w {
					at := y.at(n, c, i, j)
					largest[at] = math.Inf(-1)
					for u := range kernel {
						for v := range kernel {
							a, b := i*stride+u-padding, j*stride+v-padding
							if a >= 0 && b >= 0 && a < s.h && b < s.w && x[s.at(n, c, a, b)] > largest[at] {
								largest[at], index[at] = x[s.at(n, c, a, b)], float64(u*kernel+v)
							}
						}
					}
				}
			}
		}
	}
	return largest, index
}

func referenceUpsample(s, y shape4, x []float64) []float64 {
	out := make([]float64, y.size())
	for n := range y.n {
		for c := range y.c {
			for i := range y.h {
				for j := range y.w {
					out[y.at(n, c, i, j)] = x[s.at(n, c, i*s.h/y.h, j*s.w/y.w)]
				}
			}
		}
	}
	return out
}

func referenceAverage(s shape4, x []float64) []float64 {
	mean, _ := moments(shape4{1, s.n * s.c, s.h, s.w}, x)
	return mean
}

func referenceSoftmax(x []float64, length int) []float64 {
	y := make([]float64, len(x))
	for r := 0; r < len(x); r += length {
		sum := 0.0
		for i := range length {
			y[r+i] = math.Exp(x[r+i])
			sum += y[r+i]
		}
		for i := range length {
			y[r+i] /= sum
		}
	}
	return y
}

package host

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// layout says how a test tensor lies in memory.
type layout int

const (
	dense     layout = iota // row-major
	last                    // channels-last
	wide                    // channels-last, a range of channels of a wider map
	scattered               // row-major with a gap after every element and an odd offset
	rows                    // channels-last as a range of the rows of a (N, rows, C) storage
)

var layouts = map[string]layout{"dense": dense, "last": last, "wide": wide, "scattered": scattered, "rows": rows}

// strides gives offset, strides and storage size for a shape in a layout.
func (l layout) strides(shape []int) (offset int, strides []int, size int) {
	strides = make([]int, len(shape))
	gap := 1
	if l == scattered {
		gap, offset = 3, 5
	}
	step := gap
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= shape[i]
	}
	if len(shape) == 4 && (l == last || l == wide || l == rows) {
		c, h, w := shape[1], shape[2], shape[3]
		pixel, batch := c, h*w*c
		if l == wide {
			pixel, offset = 2*c+3, c+1
			batch = h * w * pixel
		}
		if l == rows {
			batch, offset = (h*w+7)*c, 2*c
		}
		strides = []int{batch, 1, w * pixel, pixel}
		step = shape[0] * batch
	}
	return offset, strides, step + offset
}

// plan is a stage under construction in which every tensor is an input, so
// that tests can write and read all of them.
type plan struct{ stage ir.Stage }

func newPlan() *plan { return &plan{ir.Stage{Format: ir.FormatVersion, Name: "test"}} }

func dims(values []int) []ir.Dim {
	out := make([]ir.Dim, len(values))
	for i, v := range values {
		out[i] = ir.Const(v)
	}
	return out
}

// tensor adds a tensor with memory of its own.
func (p *plan) tensor(name string, elem ir.Element, l layout, shape ...int) ir.Ref {
	offset, strides, size := l.strides(shape)
	return p.view(name, elem, offset, shape, strides, size)
}

func (p *plan) view(name string, elem ir.Element, offset int, shape, strides []int, size int) ir.Ref {
	id := p.stage.AddStorage(ir.Storage{Name: name, Space: ir.Input, Elem: elem, Size: ir.Const(size)})
	ref := p.stage.AddTensor(ir.Tensor{Name: name, Shape: dims(shape), Elem: elem, Storage: id, Offset: ir.Const(offset), Strides: dims(strides)})
	p.stage.Inputs = append(p.stage.Inputs, ir.Port{Name: name, Tensor: ref})
	return ref
}

func (p *plan) float(name string, l layout, shape ...int) ir.Ref {
	return p.tensor(name, ir.Activation, l, shape...)
}

// op appends a kernel to the forward program.
func (p *plan) op(k ir.Kernel) *plan {
	pos := ir.Pos{Package: "example", File: "net.go", Line: 1 + len(p.stage.Forward)}
	p.stage.Forward = append(p.stage.Forward, ir.Op{Name: k.Kind() + string(rune('0'+len(p.stage.Forward))), Do: k, Pos: pos})
	return p
}

var forward = device.Forward(ir.Training)

// bound is a plan ready to run.
type bound struct {
	t       testing.TB
	plan    *plan
	device  device.Device
	stage   device.Stage
	binding device.Binding
}

func (p *plan) bind(t testing.TB, precision device.Precision) *bound {
	t.Helper()
	d := Open(Options{})
	s, err := d.Load(&p.stage, precision)
	require.NoError(t, err)
	b, err := s.Bind(ir.Sizes{Batch: 1, Height: 1, Width: 1})
	require.NoError(t, err)
	return &bound{t, p, d, s, b}
}

func (b *bound) close() {
	require.NoError(b.t, b.binding.Close())
	require.NoError(b.t, b.stage.Close())
	require.NoError(b.t, b.device.Close())
}

func (b *bound) tensor(name string) device.Tensor {
	for i, p := range b.plan.stage.Inputs {
		if p.Name == name {
			return b.binding.Input(i)
		}
	}
	b.t.Fatalf("no tensor %s", name)
	return nil
}

func (b *bound) read(name string) []float64 {
	t := b.tensor(name)
	out := make([]float64, device.Elements(t.Shape()))
	require.NoError(b.t, t.ReadFloat64(out))
	return out
}

func (b *bound) write(name string, values []float64) {
	require.NoError(b.t, b.tensor(name).WriteFloat64(values))
}

func (b *bound) run() { require.NoError(b.t, b.binding.Run(forward)) }

// random gives values that float32 holds exactly, so that both precisions and
// the reference start from the same numbers.
func random(seed uint64, n int) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(float32(r.NormFloat64()))
	}
	return out
}

// close compares against a reference by the error relative to its largest value.
func requireClose(t testing.TB, want, got []float64, tolerance float64, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	scale := 1e-30
	for _, v := range want {
		scale = math.Max(scale, math.Abs(v))
	}
	for i := range want {
		if !(math.Abs(want[i]-got[i]) <= tolerance*scale) {
			require.Failf(t, "values differ", "%s: element %d is %g, want %g (scale %g)", what, i, got[i], want[i], scale)
		}
	}
}

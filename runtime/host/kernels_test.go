package host

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// values maps the names of tensors to their elements in row-major order.
type values map[string][]float64

// operandSpec is a tensor of a kernelTest.
type operandSpec struct {
	name  string
	elem  ir.Element // float when empty
	shape []int
}

// kernelTest compares one kernel with its formula: in both precisions, in
// every layout, run natively and replayed, on 1, 2 and 8 workers.
type kernelTest struct {
	name      string
	operands  []operandSpec
	kernel    func(ref map[string]ir.Ref) ir.Kernel
	prepare   func(v values) // changes the random inputs
	want      func(v values) values
	tolerance map[device.Precision]float64
}

func (k kernelTest) run(t *testing.T) {
	t.Run(k.name, func(t *testing.T) {
		start := values{}
		for i, o := range k.operands {
			start[o.name] = random(uint64(i+1), device.Elements(o.shape))
			if o.elem != "" {
				start[o.name] = make([]float64, device.Elements(o.shape))
			}
		}
		if k.prepare != nil {
			k.prepare(start)
		}
		want := k.want(start)
		require.NotEmpty(t, want)
		for name, l := range layouts {
			for _, precision := range []device.Precision{device.FP32, device.Float64} {
				native := k.execute(t, l, precision, start, 2, false)
				for output, w := range want {
					requireClose(t, w, native[output], k.limit(precision), name+" "+string(precision)+" "+output)
				}
				require.Equal(t, native, k.execute(t, l, precision, start, 2, true), "replay, %s %s", name, precision)
				for _, cores := range []int{1, 8} {
					require.Equal(t, native, k.execute(t, l, precision, start, cores, false), "%d cores, %s %s", cores, name, precision)
				}
			}
		}
	})
}

func (k kernelTest) limit(p device.Precision) float64 {
	if v, ok := k.tolerance[p]; ok {
		return v
	}
	return map[device.Precision]float64{device.FP32: 3e-6, device.Float64: 1e-12}[p]
}

// numeric is the tolerance of references by finite differences.
var numeric = map[device.Precision]float64{device.FP32: 2e-5, device.Float64: 1e-7}

// execute runs the kernel once on fresh memory and reads every tensor.
func (k kernelTest) execute(t *testing.T, l layout, precision device.Precision, start values, cores int, replay bool) values {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	p := newPlan()
	refs := map[string]ir.Ref{}
	for _, o := range k.operands {
		elem, form := o.elem, l
		if elem == "" {
			elem = ir.Activation
		}
		if elem == ir.Counter {
			form = dense
		}
		refs[o.name] = p.tensor(o.name, elem, form, o.shape...)
	}
	p.op(k.kernel(refs))
	b := p.bind(t, precision)
	defer b.close()
	for name, v := range start {
		b.write(name, v)
	}
	if replay {
		r, err := b.binding.Record(forward)
		require.NoError(t, err)
		require.NoError(t, r.Replay())
		require.NoError(t, r.Close())
	} else {
		b.run()
	}
	out := values{}
	for _, o := range k.operands {
		out[o.name] = b.read(o.name)
	}
	return out
}

// plus is a + b when accumulating, else b.
func plus(accumulate bool, a, b []float64) []float64 {
	out := append([]float64(nil), b...)
	if accumulate {
		for i := range out {
			out[i] += a[i]
		}
	}
	return out
}

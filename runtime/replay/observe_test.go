package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/runtime/host"
)

// Guard G8 on a real stage: an observer inside it sees what the same layers give
// as an output, although the arena is used again afterwards and one tensor is
// written in two parts, and the step equals that of a fit without observers.
func TestObserversInsideARealStage(t *testing.T) {
	layers := func(b *stage.Builder) (first, joined, last stage.Tensor) {
		x := b.Input("x", stage.Shape{stage.Batch, 2, stage.Height, stage.Width})
		first = b.Scope("first").Conv2d(x, stage.Conv{Out: 4, Kernel: 3})
		second := b.Scope("second").Conv2d(first, stage.Conv{Out: 4, Kernel: 3})
		third := b.Scope("third").Conv2d(second, stage.Conv{Out: 4, Kernel: 3})
		joined = b.Concat(third, b.Scope("fourth").Conv2d(third, stage.Conv{Out: 4}))
		x = joined
		for _, name := range []string{"fifth", "sixth", "seventh"} {
			x = b.SiLU(b.Scope(name).Conv2d(x, stage.Conv{Out: 8, Kernel: 3}))
		}
		return first, joined, x
	}
	plan := buildPlan(t, "network", func(b *stage.Builder) {
		_, _, last := layers(b)
		b.Output("last", last)
	})
	open := buildPlan(t, "network", func(b *stage.Builder) {
		first, joined, last := layers(b)
		b.Output("first", first)
		b.Output("joined", joined)
		b.Output("last", last)
	})
	in := Float32s(noise(5, 2*2*16), 2, 2, 4, 4)
	shown := newHostRig(t, host.Options{}, Settings{}, StageOptions{}, open)
	want, err := shown.stages[0].Forward([]Source{in})
	require.NoError(t, err)

	r := newHostRig(t, host.Options{}, Settings{}, capture, plan)
	s := r.stages[0]
	got := map[string][][]float32{}
	for name, kernel := range map[string]string{"first": "first.weight", "joined": "fifth.weight"} {
		_, err := s.Observe(tensorBeside(t, plan, kernel, name == "joined"), func(v *Tensor) {
			got[name] = append(got[name], read(t, v))
		})
		require.NoError(t, err)
	}
	for range 2 {
		out, err := s.Forward([]Source{in})
		require.NoError(t, err)
		require.Equal(t, read(t, want[2]), read(t, out[0]))
	}
	for i, name := range []string{"first", "joined"} {
		value := read(t, want[i])
		require.Equal(t, [][]float32{value, value}, got[name])
	}
	require.Equal(t, map[string]int{"G8 observer registered": 2}, reasons(r.report(0)))
	r.close()
	shown.close()
}

// tensorBeside gives the name of the input or output of the convolution with a
// certain weight.
func tensorBeside(t *testing.T, plan *ir.Stage, weight string, input bool) string {
	t.Helper()
	for _, op := range plan.Forward {
		k, ok := op.Do.(*ir.Conv2d)
		if !ok || plan.Tensor(k.Weight).Name != weight {
			continue
		}
		if input {
			return plan.Tensor(k.X).Name
		}
		return plan.Tensor(k.Y).Name
	}
	require.Failf(t, "no convolution", "with weight %s", weight)
	return ""
}

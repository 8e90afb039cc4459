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
		first = b.Scale(x, 2) // no gradient needs it, so its memory is free after its last use
		second := b.Scale(first, 3)
		third := b.Scope("third").Conv2d(b.Scale(second, 5), stage.Conv{Out: 2, Kernel: 3})
		joined = b.Concat(third, b.Scope("fourth").Conv2d(third, stage.Conv{Out: 2}))
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
	first, joined := namesInside(t, plan)
	for key, tensor := range map[string]string{"first": first, "joined": joined} {
		_, err := s.Observe(tensor, func(v *Tensor) { got[key] = append(got[key], read(t, v)) })
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

// namesInside gives the names of the first scaled tensor and of the input of the
// fifth layer in the plan of TestObserversInsideARealStage.
func namesInside(t *testing.T, plan *ir.Stage) (first, joined string) {
	t.Helper()
	for _, op := range plan.Forward {
		switch k := op.Do.(type) {
		case *ir.Scale:
			if first == "" {
				first = plan.Tensor(k.Y).Name
			}
		case *ir.Conv2d:
			if plan.Tensor(k.Weight).Name == "fifth.weight" {
				joined = plan.Tensor(k.X).Name
			}
		}
	}
	require.NotEmpty(t, first)
	require.NotEmpty(t, joined)
	return first, joined
}

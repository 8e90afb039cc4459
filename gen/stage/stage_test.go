package stage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/stage"
)

var image = stage.Shape{stage.Batch, 3, stage.Height, stage.Width}

func TestDefinitionRecordsOperationsParametersAndPlaces(t *testing.T) {
	d := stage.Define("network", func(b *stage.Builder) {
		b.Multiple(4)
		x := b.Input("image", image)
		x = b.Scope("stem", "conv").Conv2d(x, stage.Conv{Out: 8, Kernel: 3, Stride: 2})
		x = b.Scope("stem", "bn").BatchNorm(x, stage.Norm{})
		x = b.Scope("stem").SiLU(x)
		halves := b.Chunk(x, 2)
		x = b.Concat(halves[1], halves[0], x)
		x = b.MaxPool(x, stage.Pool{Kernel: 2, Stride: 2})
		b.Output("out", b.Anchors(x))
	})
	s, err := d.Build()
	require.NoError(t, err)
	require.Equal(t, "stem.conv.weight", s.Parameters[0].Name)
	require.Equal(t, []int{8, 3, 3, 3}, s.Parameters[0].Shape)
	require.Len(t, s.Parameters, 3)
	require.Len(t, s.Buffers, 3)
	require.Equal(t, "(N, H*W/16, 16)", ir.ShapeText(s.Tensor(s.Outputs[0].Tensor).Shape))
	for _, op := range s.Forward {
		require.Equal(t, "stage_test.go", op.Pos.File, op.Name)
	}
}

func TestMistakesAreCollectedWithPlaceAndRemedy(t *testing.T) {
	d := stage.Define("broken", func(b *stage.Builder) {
		x := b.Input("image", image)
		b.Input("unused", image)
		b.Conv2d(x, stage.Conv{Out: 8, Kernel: 2})
		b.Conv2d(x, stage.Conv{Out: 8, Kernel: 3, Stride: 2})
		y := b.Conv2d(x, stage.Conv{Out: 8})
		b.Conv2d(x, stage.Conv{Out: 4})
		b.Add(x, y)
		b.Scope("reprise_x").SiLU(x)
		b.Output("a", y)
		b.Output("a", x)
	})
	_, err := d.Build()
	var mistakes stage.Mistakes
	require.ErrorAs(t, err, &mistakes)
	for i, want := range []string{
		"conv2d: Kernel is 2; use an odd size",
		"conv2d: H cannot be divided by the stride 2",
		"conv2d: the state entry weight exists already, from ",
		"add: the operands are a map (N, 3, H, W) and a map (N, 8, H, W); both must have one shape",
		`scope: "reprise_x" is a reserved word`,
		"output: the name a is taken",
		"input: unused is never used; use it or remove it",
	} {
		require.Contains(t, mistakes[i].String(), want)
		require.Regexp(t, `stage_test\.go:\d+: stage broken: `, mistakes[i].String())
	}
	require.Len(t, mistakes, 7)
}

// One mistake is told once: what the refused operation would have read is no
// input that nobody uses.
func TestOperandsOfAMistakeAreUsed(t *testing.T) {
	_, err := stage.Define("rows", func(b *stage.Builder) {
		x := b.Input("image", stage.Shape{stage.Batch, 28, 28})
		b.Output("y", b.Conv2d(x, stage.Conv{Out: 8}))
	}).Build()
	var mistakes stage.Mistakes
	require.ErrorAs(t, err, &mistakes)
	require.Len(t, mistakes, 1)
	require.Contains(t, mistakes[0].String(), "conv2d: the input is rows (N, 28, 28); a convolution takes a map (N, C, H, W)")
}

func TestMoreThanTenMistakesAreCounted(t *testing.T) {
	_, err := stage.Define("many", func(b *stage.Builder) {
		x := b.Input("image", image)
		for range 14 {
			b.Conv2d(x, stage.Conv{Out: 1, Kernel: 4})
		}
		b.Output("y", b.SiLU(x))
	}).Build()
	require.ErrorContains(t, err, "\nand 4 more")
}

func TestAPanicIsAMistakeAtItsLine(t *testing.T) {
	_, err := stage.Define("panics", func(b *stage.Builder) {
		var sizes []int
		b.Input("image", image)
		_ = sizes[3]
	}).Build()
	require.ErrorContains(t, err, "stage_test.go:97: stage panics: define: the definition panicked")
}

func TestHiddenStateIsFound(t *testing.T) {
	runs := 0
	_, err := stage.Define("counts", func(b *stage.Builder) {
		runs++
		b.Output("y", b.Scale(b.Input("x", image), float64(runs)))
	}).Build()
	require.ErrorContains(t, err, "hidden state")

	var kept stage.Tensor
	_, err = stage.Define("keeps", func(b *stage.Builder) {
		x := b.Input("x", image)
		if kept != (stage.Tensor{}) {
			x = kept
		}
		kept = b.SiLU(x)
		b.Output("y", kept)
	}).Build()
	require.ErrorContains(t, err, "hidden state")
}

package stage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/stage"
)

// levelOf defines a stage whose input is a level of a feature pyramid.
func levelOf(multiple int, height, width stage.Size) *stage.Definition {
	return stage.Define("level", func(b *stage.Builder) {
		b.Multiple(multiple)
		x := b.Input("n3", stage.Shape{stage.Batch, 16, height, width}, stage.Differentiable())
		b.Output("y", b.SiLU(x))
	})
}

func TestPartsOfOpenSizes(t *testing.T) {
	s, err := levelOf(32, stage.Height.Over(8), stage.Width.Over(2).Over(4)).Build()
	require.NoError(t, err)
	shape := s.Tensor(s.Inputs[0].Tensor).Shape
	require.Equal(t, "(N, 16, H/8, W/8)", ir.ShapeText(shape))
	sizes, err := shape[3].Eval(ir.Sizes{Batch: 1, Height: 64, Width: 96})
	require.NoError(t, err)
	require.Equal(t, 12, sizes)
	require.Equal(t, stage.Height.Over(1).Over(8), stage.Height.Over(8))
}

func TestPartsThatAreNoSizes(t *testing.T) {
	for _, test := range []struct {
		multiple int
		height   stage.Size
		want     string
	}{
		{4, stage.Height.Over(8), "n3: H/8 does not come out even for every allowed size"},
		{32, stage.Height.Over(0), "n3: the size 0 is not a size"},
		{32, stage.Batch.Over(2), "n3: the size 0 is not a size"},
		{32, stage.Size(64).Over(2), "n3: the size 0 is not a size"},
		{32, -4, "n3: the size -4 is not a size"},
	} {
		_, err := levelOf(test.multiple, test.height, stage.Width).Build()
		require.ErrorContains(t, err, test.want)
	}
}

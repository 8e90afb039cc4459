package decode_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

var small = objective.Size{Batch: 2, Height: 96, Width: 64, Classes: 3}

// randomBranch draws outputs with many equal logits, many overlapping boxes and
// some inverted ones.
func randomBranch(random *rand.Rand, size objective.Size, anchors int) decode.Branch[float32] {
	draw := func(channels int, next func() float64) []float32 {
		values := make([]float32, size.Batch*anchors*channels)
		for i := range values {
			values[i] = float32(next())
		}
		return values
	}
	return decode.Branch[float32]{
		Class:       draw(size.Classes, func() float64 { return float64(random.IntN(25))/2 - 9 }),
		Box:         draw(4, func() float64 { return random.Float64()*4 - 0.5 }),
		Angle:       draw(1, func() float64 { return random.Float64()*6 - 3 }),
		Coefficient: draw(4, func() float64 { return random.Float64()*2 - 1 }),
		Keypoint:    draw(4*2, random.NormFloat64),
	}
}

func images(t testing.TB, branch decode.Branch[float32], size objective.Size) []decode.Image[float32] {
	t.Helper()
	list, err := branch.Images(size)
	require.NoError(t, err)
	require.Len(t, list, size.Batch)
	return list
}

// pickOf is the best class of an anchor by the letter of section 8.1.
func pickOf(logits []float32, classes, anchor int) decode.Pick {
	pick := decode.Pick{Anchor: anchor, Class: -1, Score: -1}
	for c := range classes {
		if p := 1 / (1 + math.Exp(-float64(logits[anchor*classes+c]))); p > pick.Score {
			pick.Class, pick.Score = c, p
		}
	}
	return pick
}

package decode_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// tile is the image of an oriented validation: 1024 pixels, 15 classes, 21504
// anchors of which one in fifty stands out.
func tile(b *testing.B) decode.Image[float32] {
	random := rand.New(rand.NewPCG(8, 1))
	size := objective.Size{Batch: 1, Height: 1024, Width: 1024, Classes: 15}
	grid, err := size.Grid()
	require.NoError(b, err)
	branch := randomBranch(random, size, grid.Anchors())
	for i := range branch.Class {
		branch.Class[i] = float32(random.NormFloat64() - 10)
		if random.IntN(50*size.Classes) == 0 {
			branch.Class[i] += 10
		}
	}
	return images(b, branch, size)[0]
}

func BenchmarkTopKRotated(b *testing.B) {
	image := tile(b)
	for b.Loop() {
		_, err := image.TopKRotated(decode.DefaultTopK())
		require.NoError(b, err)
	}
}

func BenchmarkSuppressedRotated(b *testing.B) {
	image := tile(b)
	for b.Loop() {
		_, err := image.SuppressedRotated(decode.DefaultSuppression())
		require.NoError(b, err)
	}
}

func BenchmarkCanvasMask(b *testing.B) {
	prototypes, err := decode.NewPrototypes(make([]float32, 32*160*160), 1, 640, 640)
	require.NoError(b, err)
	coefficients := make([]float32, 32)
	for b.Loop() {
		_, err := prototypes[0].CanvasMask(coefficients, geometry.Box{X1: 100, Y1: 100, X2: 260, Y2: 260})
		require.NoError(b, err)
	}
}

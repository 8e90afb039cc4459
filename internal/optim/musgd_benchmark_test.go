package optim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// nanoMatrices are the matrices of the nano detector with 80 classes: how many
// of each shape.
var nanoMatrices = []struct {
	count int
	shape []int
}{
	{2, []int{4, 21, 1, 1}}, {2, []int{4, 42, 1, 1}}, {2, []int{4, 85, 1, 1}},
	{1, []int{16, 3, 3, 3}}, {2, []int{16, 16, 3, 3}},
	{4, []int{21, 1, 3, 3}}, {4, []int{21, 21, 1, 1}}, {4, []int{21, 64, 1, 1}},
	{1, []int{32, 16, 3, 3}}, {1, []int{32, 32, 1, 1}}, {8, []int{32, 32, 3, 3}}, {4, []int{32, 64, 1, 1}},
	{4, []int{42, 1, 3, 3}}, {4, []int{42, 42, 1, 1}}, {4, []int{42, 128, 1, 1}},
	{4, []int{64, 1, 3, 3}}, {1, []int{64, 48, 1, 1}}, {3, []int{64, 64, 1, 1}}, {10, []int{64, 64, 3, 3}},
	{1, []int{64, 96, 1, 1}}, {4, []int{64, 128, 1, 1}}, {1, []int{64, 256, 1, 1}},
	{2, []int{80, 21, 1, 1}}, {2, []int{80, 42, 1, 1}}, {2, []int{80, 85, 1, 1}},
	{4, []int{85, 1, 3, 3}}, {4, []int{85, 85, 1, 1}}, {4, []int{85, 256, 1, 1}},
	{6, []int{128, 1, 3, 3}}, {1, []int{128, 96, 1, 1}}, {5, []int{128, 128, 1, 1}}, {2, []int{128, 128, 3, 3}},
	{4, []int{128, 192, 1, 1}}, {3, []int{128, 256, 1, 1}}, {1, []int{128, 384, 1, 1}},
	{4, []int{256, 1, 3, 3}}, {4, []int{256, 128, 1, 1}}, {1, []int{256, 128, 3, 3}}, {3, []int{256, 256, 1, 1}},
	{3, []int{256, 384, 1, 1}}, {1, []int{256, 512, 1, 1}},
}

// nano returns the nano detector's 127 matrices with seeded values. Its 242
// vectors add less than one part in a hundred to a step.
func nano() []Parameter[float32] {
	var shapes [][]int
	for _, m := range nanoMatrices {
		for range m.count {
			shapes = append(shapes, m.shape)
		}
	}
	return drawn[float32](shapes, 1)
}

// The benchmark measures the network that it claims: the counts of the YOLO26
// specification, training section 4.4.
func TestNanoMatricesAreThePublishedOnes(t *testing.T) {
	parameters, elements := nano(), 0
	for _, p := range parameters {
		elements += len(p.Value)
	}
	require.Len(t, parameters, 127)
	require.Len(t, nanoMatrices, 41)
	require.Equal(t, 2415608, elements)
}

func BenchmarkMuSGDStepNano(b *testing.B) {
	o := optimizer[float32](b, home(b), DefaultMuSGDOptions())
	parameters := nano()
	require.NoError(b, o.Step(0.01, parameters))
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, o.Step(0.01, parameters))
	}
}

package golden

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The first output of SplitMix64 from state 0, and FNV-1a of "a", are published
// values of the two algorithms.
func TestRuleBuildingBlocks(t *testing.T) {
	require.Equal(t, uint64(0xE220A8397B1DCDAF), splitMix64(0))
	require.Equal(t, Stream{splitMix64(0xAF63DC4C8601EC8C ^ 5)}, NewRule(5).Stream("a"))
}

func TestRuleRanges(t *testing.T) {
	s := NewRule(21).Stream("range")
	var sum float64
	for i := range 1 << 14 {
		u := s.U(i)
		require.True(t, u >= -1 && u < 1)
		require.Equal(t, u, float64(float32(u)))
		require.Equal(t, int(math.Floor(float64(s.K(i))*7/(1<<24))), s.Draw(i, 7))
		sum += u
	}
	require.InDelta(t, 0, sum/(1<<14), 0.02)
	image := make([]float32, 4)
	FillImage(NewRule(21), "range", image)
	require.Equal(t, float32((s.U(3)+1)/2), image[3])
	cotangent := make([]float64, 4)
	FillCotangent(NewRule(21), "o", cotangent)
	require.Equal(t, NewRule(21).Stream("cotangent.o").U(1)/4, cotangent[1])
}

func TestWeightRules(t *testing.T) {
	biased := []string{"head.o2o.keypoint_stems.1.2.weight", "head.o2o.keypoint_stems.1.2.bias", "rle_loss.layers.0.1.weight", "rle_loss.layers.0.1.bias"}
	for _, test := range []struct {
		name             string
		shape            []int
		offset, scale    float64 // in a case
		tOffset, tScaled float64 // in a trajectory
	}{
		{"a.bn.running_mean", []int{3}, 0, 0.1, 0, 0.1},
		{"a.bn.running_var", []int{3}, 1, 0.5, 1, 0.5},
		{"a.bn.weight", []int{3}, 1, 0.25, 1, 0.25},
		{"a.bn.bias", []int{3}, 0, 0.1, 0, 0.1},
		{"a.conv.weight", []int{2, 3, 2, 2}, 0, 0.5, 0, 2},
		{"head.o2o.keypoint_stems.1.2.weight", []int{2, 12, 1, 1}, 0, 0.5, 0, 0.125},
		{"head.o2o.keypoint_stems.1.2.bias", []int{2}, 0, 0.1, 0, 0.1},
		{"head.o2m.box_stems.0.2.bias", []int{4}, 0, 0.1, 1.25, 0.25},
		{"head.o2m.box_stems.0.1.1.bn.bias", []int{4}, 0, 0.1, 0, 0.1},
		{"head.o2m.cls_stems.2.2.bias", []int{4}, 0, 0.1, -2, 0.1},
		{"semantic.classifier.bias", []int{4}, 0, 0.1, -2, 0.1},
		{"rle_loss.layers.0.1.weight", []int{2, 12}, 0, 0.5, 0, 0.5},
		{"rle_loss.layers.0.1.bias", []int{2}, 0, 0.1, 0, 0.1},
	} {
		size, err := sizeOf(test.shape)
		require.NoError(t, err)
		value := make([]float64, size)
		for _, kind := range []struct {
			weights       Weights
			offset, scale float64
		}{{CaseWeights(11), test.offset, test.scale}, {TrajectoryWeights(11, biased), test.tOffset, test.tScaled}} {
			require.NoError(t, Fill(kind.weights, test.name, test.shape, value))
			for i, v := range value {
				require.InDelta(t, kind.offset+kind.scale*NewRule(11).Stream(test.name).U(i), v, 1e-15, test.name)
			}
		}
	}
	gain := make([]float64, 1)
	require.NoError(t, Fill(TrajectoryWeights(11, nil), "rle_loss.layers.5.gain", []int{1}, gain))
	require.InDelta(t, 1, gain[0], 0.25)
	require.ErrorContains(t, Fill(CaseWeights(11), "a.bn.num_batches_tracked", nil, gain), "no rule")
	require.ErrorContains(t, Fill(CaseWeights(11), "a.conv.weight", []int{2}, gain), "has 1 values")
}

// A tensor whose gradient and momentum are zero only decays in its first step,
// so the reference state after it shows the initial weights: rate 0.0025, decay
// 0.0005.
func TestTrajectoryWeightsMatchAReference(t *testing.T) {
	value := make([]float64, 4*42)
	name := "head.o2o.box_stems.2.2.weight"
	require.NoError(t, Fill(TrajectoryWeights(21, []string{name, "head.o2o.box_stems.2.2.bias"}), name, []int{4, 42, 1, 1}, value))
	for i, want := range map[int]float64{0: 0.1361033620744, 11: 0.01367181960253, 22: 0.155639871758} {
		require.InDelta(t, want, value[i]*(1-0.0025*0.0005), 1e-12)
	}
}

package decode_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Field case YO-11: the limit may exceed the number of anchors.
func TestTopKEqualsSortingAllAnchors(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	grid, err := small.Grid()
	require.NoError(t, err)
	anchors := grid.Anchors()
	require.Equal(t, 96+24+6, anchors)
	for _, limit := range []int{0, 1, 7, 60, 126, 300} {
		branch := randomBranch(random, small, anchors)
		for i, image := range images(t, branch, small) {
			var want []decode.Pick
			for anchor := range anchors {
				want = append(want, pickOf(branch.Class[i*anchors*small.Classes:], small.Classes, anchor))
			}
			// A stable sort leaves the lower anchor first.
			slices.SortStableFunc(want, func(a, b decode.Pick) int {
				switch {
				case math.Abs(a.Score-b.Score) < 1e-15:
					return 0
				case a.Score > b.Score:
					return -1
				}
				return 1
			})
			got := image.TopK(decode.TopK{Limit: limit})
			require.Len(t, got, min(limit, anchors))
			for row, detection := range got {
				require.Equal(t, want[row].Anchor, detection.Anchor)
				require.Equal(t, want[row].Class, detection.Class)
				require.InDelta(t, want[row].Score, detection.Score, 1e-15)
				raw := (i*anchors + detection.Anchor) * 4
				require.Equal(t, objective.DecodeBox(grid, detection.Anchor, branch.Box[raw:raw+4]), detection.Box)
			}
			rotated, err := image.TopKRotated(decode.TopK{Limit: limit})
			require.NoError(t, err)
			for row, detection := range rotated {
				require.Equal(t, got[row].Pick, detection.Pick)
				raw := i*anchors + detection.Anchor
				require.Equal(t, objective.DecodeRotated(grid, detection.Anchor, branch.Box[4*raw:4*raw+4], branch.Angle[raw]), detection.Box)
				require.Equal(t, detection.Box.Canonical(), detection.Box)
			}
		}
	}
}

// one is a branch of a single 32 x 32 image with background everywhere.
func one(classes int) (decode.Branch[float32], objective.Size) {
	size := objective.Size{Batch: 1, Height: 32, Width: 32, Classes: classes}
	branch := decode.Branch[float32]{Class: make([]float32, 21*classes), Box: make([]float32, 21*4)}
	for i := range branch.Class {
		branch.Class[i] = -20
	}
	return branch, size
}

func TestTopKTies(t *testing.T) {
	branch, size := one(2)
	branch.Class[2*5+1] = 1  // anchor 5, class 1
	branch.Class[2*3] = 1    // anchor 3, both classes: the first wins
	branch.Class[2*3+1] = 1  // and the anchor comes before 5
	branch.Class[2*20+1] = 2 // the best anchor
	got := images(t, branch, size)[0].TopK(decode.TopK{Limit: 3})
	require.Equal(t, []decode.Pick{
		{Anchor: 20, Class: 1, Score: got[0].Score},
		{Anchor: 3, Class: 0, Score: got[1].Score},
		{Anchor: 5, Class: 1, Score: got[1].Score},
	}, []decode.Pick{got[0].Pick, got[1].Pick, got[2].Pick})
	require.InDelta(t, 1/(1+math.Exp(-2)), got[0].Score, 1e-15)
}

func TestTopKThresholdKeepsRows(t *testing.T) {
	branch, size := one(1)
	branch.Class[4], branch.Class[9], branch.Class[2] = 3, 0, -1
	got := images(t, branch, size)[0].TopK(decode.TopK{Limit: 4, Threshold: 0.5})
	require.Len(t, got, 4)
	require.Equal(t, []int{4, 9, 2, 0}, []int{got[0].Anchor, got[1].Anchor, got[2].Anchor, got[3].Anchor})
	require.Equal(t, 0.5, got[1].Score) // the threshold itself stays
	require.Zero(t, got[2].Score)
	require.Zero(t, got[3].Score)
}

func TestTopKOfBrokenLogits(t *testing.T) {
	branch, size := one(2)
	nan := float32(math.NaN())
	branch.Class[0], branch.Class[1] = nan, nan                // anchor 0 has no number at all
	branch.Class[2*7], branch.Class[2*7+1] = nan, 4            // anchor 7 has one
	branch.Class[2*8] = float32(math.Inf(1))                   // probability 1
	branch.Box[4*8], branch.Box[4*8+2] = -1, float32(-math.Pi) // broken boxes are not filtered
	got := images(t, branch, size)[0].TopK(decode.DefaultTopK())
	require.Len(t, got, 21)
	require.Equal(t, decode.Pick{Anchor: 8, Class: 0, Score: 1}, got[0].Pick)
	require.Less(t, got[0].Box.X2, got[0].Box.X1)
	require.Equal(t, 7, got[1].Anchor)
	require.Equal(t, 1, got[1].Class)
	require.Equal(t, decode.Pick{Anchor: 0}, got[20].Pick)
}

func TestKeypointsAndCoefficients(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 1))
	grid, err := small.Grid()
	require.NoError(t, err)
	branch := randomBranch(random, small, grid.Anchors())
	const anchor = 100 // row 0, column 4 of the stride-16 level: 4 cells a row, so row 1, column 0
	image := images(t, branch, small)[1]
	raw := branch.Keypoint[(grid.Anchors()+anchor)*8:]
	require.Equal(t, []geometry.Point{
		{X: 8 + 16*float64(raw[0]), Y: 24 + 16*float64(raw[1])},
		{X: 8 + 16*float64(raw[4]), Y: 24 + 16*float64(raw[5])},
	}, image.Keypoints(anchor))
	start := (grid.Anchors() + anchor) * 4
	require.Equal(t, branch.Coefficient[start:start+4], image.Coefficients(anchor))
}

func TestImagesRefuseWrongLengths(t *testing.T) {
	branch, size := one(2)
	for _, test := range []struct {
		name   string
		change func(*decode.Branch[float32], *objective.Size)
		want   string
	}{
		{"class", func(b *decode.Branch[float32], _ *objective.Size) { b.Class = b.Class[1:] }, "class output has 41 elements, want 1 x 21 x 2 = 42"},
		{"box", func(b *decode.Branch[float32], _ *objective.Size) { b.Box = nil }, "box output has 0 elements, want 1 x 21 x 4 = 84"},
		{"angle", func(b *decode.Branch[float32], _ *objective.Size) { b.Angle = make([]float32, 20) }, "angle output has 20 elements"},
		{"coefficient", func(b *decode.Branch[float32], _ *objective.Size) { b.Coefficient = make([]float32, 22) }, "coefficient output has 22 elements"},
		{"keypoint", func(b *decode.Branch[float32], _ *objective.Size) { b.Keypoint = make([]float32, 21*6) }, "keypoint output has 126 elements, want 1 x 21 x 4 = 84"},
		{"size", func(_ *decode.Branch[float32], s *objective.Size) { s.Height = 33 }, "input of 33 x 32 pixels"},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed, wrong := branch, size
			test.change(&changed, &wrong)
			_, err := changed.Images(wrong)
			require.ErrorContains(t, err, test.want)
		})
	}
	_, err := images(t, branch, size)[0].TopKRotated(decode.DefaultTopK())
	require.EqualError(t, err, "the branch has no angle output; decode axis-aligned boxes or pass the output of an oriented network")
	_, err = images(t, branch, size)[0].SuppressedRotated(decode.DefaultSuppression())
	require.Error(t, err)
}

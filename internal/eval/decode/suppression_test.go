package decode_test

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// The worked example of section 8.2.
func TestSuppressionWorkedBoxes(t *testing.T) {
	row := func(anchor, class int, score, x1, y1, x2, y2 float64) decode.Detection {
		return decode.Detection{
			Pick: decode.Pick{Anchor: anchor, Class: class, Score: score},
			Box:  geometry.Box{X1: x1, Y1: y1, X2: x2, Y2: y2},
		}
	}
	a := row(0, 0, 0.9, 10, 10, 50, 50)
	b := row(1, 0, 0.8, 12, 11, 52, 49)
	other := row(2, 1, 0.7, 12, 11, 52, 49)
	corner := row(3, 0, 0.6, 40, 40, 90, 90)
	flat := row(4, 0, 0.95, 30, 30, 30, 60)
	faint := row(5, 0, 0.0009, 200, 200, 300, 300)
	endless := row(6, 0, 0.99, 0, 0, math.Inf(1), 10)
	all := []decode.Detection{corner, endless, flat, b, faint, other, a}

	s := decode.DefaultSuppression()
	require.Equal(t, []decode.Detection{a, other, corner}, s.Boxes(all))
	s.Limit = 2
	require.Equal(t, []decode.Detection{a, other}, s.Boxes(all))

	// Suppression is strict: an overlap equal to the threshold stays.
	half := row(7, 0, 0.5, 10, 10, 50, 30)
	s = decode.Suppression{Score: 0.001, IoU: 0.5, Limit: 10}
	require.Equal(t, []decode.Detection{a, half}, s.Boxes([]decode.Detection{a, half}))
	s.IoU = 0.49
	require.Equal(t, []decode.Detection{a}, s.Boxes([]decode.Detection{a, half}))
}

// Boxes without positive extents stay and suppress nothing (section 8.3).
func TestSuppressionKeepsFlatRotatedBoxes(t *testing.T) {
	row := func(anchor int, score, width, angle float64) decode.Rotated {
		return decode.Rotated{
			Pick: decode.Pick{Anchor: anchor, Score: score},
			Box:  geometry.RotatedBox{CenterX: 20, CenterY: 20, Width: width, Height: 4, Angle: angle},
		}
	}
	flat, flatter := row(0, 0.9, -8, 0), row(1, 0.8, -8, 0)
	good, worse := row(2, 0.7, 12, 0.1), row(3, 0.6, 12, 0.1)
	broken := row(4, 0.99, math.NaN(), 0)
	got := decode.DefaultSuppression().Rotated([]decode.Rotated{worse, broken, flat, good, flatter})
	require.Equal(t, []decode.Rotated{flat, flatter, good}, got)
}

// literal is the greedy procedure over all remaining candidates: take the best,
// strike what it covers, until nothing is left.
func literal(candidates []decode.Pick, limit int, covers func(kept, other int) bool) []decode.Pick {
	order := make([]int, len(candidates))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return candidates[order[i]].Score > candidates[order[j]].Score })
	var kept []decode.Pick
	for len(order) > 0 {
		best := order[0]
		kept = append(kept, candidates[best])
		var rest []int
		for _, i := range order[1:] {
			if candidates[i].Class != candidates[best].Class || !covers(best, i) {
				rest = append(rest, i)
			}
		}
		order = rest
	}
	return kept[:min(limit, len(kept))]
}

func TestSuppressedEqualsLiteral(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 1))
	grid, err := small.Grid()
	require.NoError(t, err)
	struck := 0
	for range 20 {
		branch := randomBranch(random, small, grid.Anchors())
		for _, image := range images(t, branch, small) {
			options := decode.Suppression{Score: 0.01, IoU: 0.3, Limit: 5 + random.IntN(200)}
			var picks []decode.Pick
			var boxes []geometry.Box
			all := image.TopK(decode.TopK{Limit: grid.Anchors()})
			for _, d := range all {
				if d.Score >= options.Score && d.Box.Area() > 0 {
					picks, boxes = append(picks, d.Pick), append(boxes, d.Box)
				}
			}
			want := literal(picks, options.Limit, func(kept, other int) bool {
				a, b := boxes[kept], boxes[other]
				common := math.Max(0, math.Min(a.X2, b.X2)-math.Max(a.X1, b.X1)) *
					math.Max(0, math.Min(a.Y2, b.Y2)-math.Max(a.Y1, b.Y1))
				return common/(a.Area()+b.Area()-common) > options.IoU
			})
			var got []decode.Pick
			for _, d := range image.Suppressed(options) {
				got = append(got, d.Pick)
			}
			require.Equal(t, want, got)
			if len(got) < options.Limit {
				struck += len(picks) - len(got)
			}
		}
	}
	require.Greater(t, struck, 100)
}

func TestSuppressedRotatedEqualsLiteral(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	grid, err := small.Grid()
	require.NoError(t, err)
	struck := 0
	for range 10 {
		branch := randomBranch(random, small, grid.Anchors())
		for _, image := range images(t, branch, small) {
			options := decode.Suppression{Score: 0.01, IoU: 0.3, Limit: 5 + random.IntN(120)}
			all, err := image.TopKRotated(decode.TopK{Limit: grid.Anchors()})
			require.NoError(t, err)
			var picks []decode.Pick
			var boxes []geometry.RotatedBox
			for _, d := range all {
				if d.Score >= options.Score {
					picks, boxes = append(picks, d.Pick), append(boxes, d.Box)
				}
			}
			want := literal(picks, options.Limit, func(kept, other int) bool {
				return geometry.RotatedIoU(boxes[kept], boxes[other]) > options.IoU
			})
			rows, err := image.SuppressedRotated(options)
			require.NoError(t, err)
			var got []decode.Pick
			for _, d := range rows {
				got = append(got, d.Pick)
			}
			require.Equal(t, want, got)
			if len(got) < options.Limit {
				struck += len(picks) - len(got)
			}
		}
	}
	require.Greater(t, struck, 20)
}

package precision_test

import (
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/precision"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// bar is a box of 20 x 10 moved along its long side: a shift of s overlaps the
// one at 0 by (20-s)/(20+s).
func bar(shift float64) geometry.RotatedBox {
	return geometry.RotatedBox{CenterX: 50 + shift, CenterY: 40, Width: 20, Height: 10}
}

func rotated(class int, score float64, b geometry.RotatedBox) decode.Rotated {
	return decode.Rotated{Pick: decode.Pick{Class: class, Score: score}, Box: b}
}

func oriented(t *testing.T, limit int, detections []decode.Rotated, objects []precision.RotatedObject) *precision.Oriented {
	t.Helper()
	e, err := precision.NewOriented(2, limit)
	require.NoError(t, err)
	require.NoError(t, e.Add(detections, objects))
	return e
}

func TestOrientedMatching(t *testing.T) {
	plain, difficult := precision.RotatedObject{Box: bar(0)}, precision.RotatedObject{Box: bar(0), Difficult: true}
	far := precision.RotatedObject{Box: bar(100)}
	for _, test := range []struct {
		name       string
		detections []decode.Rotated
		objects    []precision.RotatedObject
		want       float64 // average precision at 0.50
	}{
		{"hit", []decode.Rotated{rotated(0, 0.9, bar(2))}, []precision.RotatedObject{plain}, 1},
		{"second on the same object is false", []decode.Rotated{rotated(0, 0.9, bar(0)), rotated(0, 0.8, bar(1)), rotated(0, 0.7, bar(100))},
			[]precision.RotatedObject{plain, far}, (51 + 50*2.0/3) / 101},
		{"falls back to the next free object", []decode.Rotated{rotated(0, 0.9, bar(0)), rotated(0, 0.8, bar(1))},
			[]precision.RotatedObject{plain, {Box: bar(5)}}, 1},
		{"difficult only is discarded, again and again", []decode.Rotated{rotated(0, 0.9, bar(0)), rotated(0, 0.8, bar(1)), rotated(0, 0.7, bar(100))},
			[]precision.RotatedObject{difficult, far}, 1},
		{"a matchable object goes before a difficult one with more overlap", []decode.Rotated{rotated(0, 0.9, bar(0))},
			[]precision.RotatedObject{difficult, {Box: bar(5)}}, 1},
		{"difficult objects alone are no ground truth", []decode.Rotated{rotated(0, 0.9, bar(0))}, []precision.RotatedObject{difficult}, -1},
		{"another class", []decode.Rotated{rotated(1, 0.9, bar(0))}, []precision.RotatedObject{plain}, 0},
		{"no detection", nil, []precision.RotatedObject{plain}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := oriented(t, 300, test.detections, test.objects)
			require.InDelta(t, test.want, e.Precision50(), 1e-12)
		})
	}
}

func TestOrientedFigures(t *testing.T) {
	// Overlap 17/23 = 0.739 passes 0.50 to 0.70.
	e := oriented(t, 300, []decode.Rotated{rotated(0, 0.9, bar(3))}, []precision.RotatedObject{{Box: bar(0)}})
	want := []precision.Figure{{Name: "map", Value: 0.5}, {Name: "map_50", Value: 1}, {Name: "map_75", Value: 0}, {Name: "mar_300", Value: 0.5}}
	require.Equal(t, want, e.Figures())
	points, err := e.Curve(0, 4)
	require.NoError(t, err)
	require.Equal(t, []precision.CurvePoint{{Score: 0.9, Precision: 1, Recall: 1, Hits: 1}}, points)
	_, err = e.Curve(2, 0)
	require.Error(t, err)
}

// The cap counts detections of all classes together.
func TestOrientedLimitSpansClasses(t *testing.T) {
	detections := []decode.Rotated{rotated(1, 0.7, bar(200)), rotated(0, 0.9, bar(300)), rotated(1, 0.8, bar(400)), rotated(0, 0.6, bar(0))}
	objects := []precision.RotatedObject{{Box: bar(0)}, {Class: 1, Box: bar(200)}}
	require.Equal(t, 0.0, oriented(t, 2, detections, objects).Recall())
	require.Equal(t, 0.5, oriented(t, 3, detections, objects).Recall())
	require.Equal(t, 1.0, oriented(t, 4, detections, objects).Recall())
	e := oriented(t, precision.Unlimited, detections, objects)
	require.Equal(t, precision.Figure{Name: "mar", Value: 1}, e.Figures()[3])
}

// referenceOriented is section 9.3 word by word for one class and threshold.
func referenceOriented(images [][]decode.Rotated, objects [][]precision.RotatedObject, class, limit int, threshold float64) (rows []judged, positives int) {
	for i := range images {
		order := make([]int, len(images[i]))
		for d := range order {
			order[d] = d
		}
		sort.SliceStable(order, func(a, b int) bool { return images[i][order[a]].Score > images[i][order[b]].Score })
		free := map[int]bool{}
		for o, object := range objects[i] {
			if object.Class == class && !object.Difficult {
				free[o] = true
				positives++
			}
		}
		for _, d := range order[:min(limit, len(order))] {
			if images[i][d].Class != class {
				continue
			}
			best, match, excused := 0.0, -1, false
			for o, object := range objects[i] {
				iou := geometry.RotatedIoU(images[i][d].Box, object.Box)
				if free[o] && iou >= threshold && iou > best {
					best, match = iou, o
				}
				excused = excused || object.Class == class && object.Difficult && iou >= threshold
			}
			delete(free, match)
			rows = append(rows, judged{score: images[i][d].Score, hit: match >= 0, ignored: match < 0 && excused})
		}
	}
	sort.SliceStable(rows, func(a, b int) bool { return rows[a].score > rows[b].score })
	return rows, positives
}

// randomTile draws objects, some of them difficult, and detections near them.
func randomTile(random *rand.Rand, classes int) (detections []decode.Rotated, objects []precision.RotatedObject) {
	for range random.IntN(8) {
		objects = append(objects, precision.RotatedObject{
			Class: random.IntN(classes), Difficult: random.IntN(3) == 0,
			Box: geometry.RotatedBox{
				CenterX: random.Float64() * 60, CenterY: random.Float64() * 60,
				Width: 20 + random.Float64()*20, Height: 10 + random.Float64()*10, Angle: random.Float64() * 3,
			},
		})
	}
	for range random.IntN(25) {
		d := rotated(random.IntN(classes), float64(random.IntN(9))/9, bar(random.Float64()*50))
		if len(objects) > 0 {
			o := objects[random.IntN(len(objects))]
			d.Class, d.Box = o.Class, o.Box
			d.Box.CenterX += random.NormFloat64() * 3
			d.Box.Angle += random.NormFloat64() / 8
		}
		detections = append(detections, d)
	}
	return detections, objects
}

func TestOrientedEqualsReference(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 1))
	discarded := 0
	for range 15 {
		const classes, count = 3, 8
		limit := []int{4, 12, 300}[random.IntN(3)]
		e, err := precision.NewOriented(classes, limit)
		require.NoError(t, err)
		images, truth := make([][]decode.Rotated, count), make([][]precision.RotatedObject, count)
		for i := range count {
			images[i], truth[i] = randomTile(random, classes)
			require.NoError(t, e.Add(images[i], truth[i]))
		}
		ap, ar, settings := 0.0, 0.0, 0.0
		for _, threshold := range decimals {
			for class := range classes {
				rows, positives := referenceOriented(images, truth, class, limit, threshold)
				if positives == 0 {
					continue
				}
				for _, row := range rows {
					if row.ignored {
						discarded++
					}
				}
				one, all := referenceAverage(rows, positives)
				ap, ar, settings = ap+one, ar+all, settings+1
			}
		}
		require.InDelta(t, ap/settings, e.Precision(), 1e-12)
		require.InDelta(t, ar/settings, e.Recall(), 1e-12)
	}
	require.Greater(t, discarded, 100)
}

func TestOrientedRefusesBadInput(t *testing.T) {
	_, err := precision.NewOriented(1, 0)
	require.Error(t, err)
	_, err = precision.NewOriented(0, 300)
	require.Error(t, err)
	e, err := precision.NewOriented(1, 300)
	require.NoError(t, err)
	require.ErrorContains(t, e.Add([]decode.Rotated{rotated(1, 0.5, bar(0))}, nil), "detection 0: class 1 is outside 0..0")
	require.ErrorContains(t, e.Add(nil, []precision.RotatedObject{{Class: 3}}), "object 0: class 3 is outside 0..0")
	require.Equal(t, -1.0, e.Precision())
}

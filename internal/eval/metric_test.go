package eval_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval"
	"github.com/reprise-ml/reprise/internal/geometry"
)

var boxNames = []string{"mAP", "mAP50", "mAP75", "mar_100"}

func rectangle(b geometry.Box) []geometry.Point {
	return []geometry.Point{{X: b.X1, Y: b.Y1}, {X: b.X2, Y: b.Y1}, {X: b.X2, Y: b.Y2}, {X: b.X1, Y: b.Y2}}
}

func TestBoxMetric(t *testing.T) {
	object := geometry.Box{X1: 10, Y1: 10, X2: 50, Y2: 50}
	n := newNetwork[float64](t, 2)
	n.detect(0, 12, 0, 2, geometry.Box{X1: 12, Y1: 11, X2: 52, Y2: 49}) // 0.8616: eight thresholds
	n.detect(1, 300, 2, 2, object)
	metric := eval.NewBoxMetric[float64](classes)
	require.NoError(t, metric.Add(n.outputs, batch(
		data.Target{Labels: []int{0, 1}, Boxes: []geometry.Box{object, {X1: 5, Y1: 5, X2: 5, Y2: 9}}},
		data.Target{Labels: []int{2}, Boxes: []geometry.Box{object}},
	)))
	values := figures(t, metric.Result, boxNames...)
	// The flat box of class 1 is no ground truth, so two classes are averaged.
	require.InDelta(t, 0.9, values["mAP"], 1e-12)
	require.InDelta(t, 1, values["mAP50"], 1e-12)
	require.InDelta(t, 1, values["mAP75"], 1e-12)
	require.InDelta(t, 0.9, values["mar_100"], 1e-12)
}

// Rows of probability 0 detect nothing, or the 300 rows of every image would
// drown the curve.
func TestBoxMetricReadsPositiveScores(t *testing.T) {
	object := geometry.Box{X1: 10, Y1: 10, X2: 50, Y2: 50}
	n := newNetwork[float64](t, 1)
	n.detect(0, 12, 0, -1000, object)
	metric := eval.NewBoxMetric[float64](classes)
	require.NoError(t, metric.Add(n.outputs, batch(data.Target{Labels: []int{0}, Boxes: []geometry.Box{object}})))
	require.Zero(t, figures(t, metric.Result, boxNames...)["mAP50"])
}

func TestMaskMetric(t *testing.T) {
	// The first prototype is positive in columns below 16, the second in rows
	// below 8: coefficients pick one of them, and the box crops it.
	n := newNetwork[float64](t, 1)
	const cells = side / 4
	for row := range cells {
		for column := range cells {
			n.outputs["prototypes"][row*cells+column] = 15.5 - float64(column)
			n.outputs["prototypes"][(cells+row)*cells+column] = 7.5 - float64(row)
		}
	}
	object := geometry.Box{X1: 16, Y1: 16, X2: 80, Y2: 48} // cells 4..19 x 4..11
	n.detect(0, 40, 1, 2, object)
	n.outputs["o2o_coeff"][2*40] = 1 // columns 4..15 of it: 96 of 128 cells
	metric := eval.NewMaskMetric[float64](classes)
	target := data.Target{Labels: []int{1}, Boxes: []geometry.Box{object}, Polygons: [][]geometry.Point{rectangle(object)}}
	require.NoError(t, metric.Add(n.outputs, batch(target)))
	names := append(append([]string{}, boxNames...), "segm_mAP", "segm_mAP50", "segm_mAP75")
	values := figures(t, metric.Result, names...)
	require.InDelta(t, 1, values["mAP"], 1e-12)
	require.InDelta(t, 0.6, values["segm_mAP"], 1e-12) // 0.75 passes six thresholds
	require.InDelta(t, 1, values["segm_mAP75"], 1e-12)

	// The second prototype covers half of the box.
	n.outputs["o2o_coeff"][2*40], n.outputs["o2o_coeff"][2*40+1] = 0, 1
	metric = eval.NewMaskMetric[float64](classes)
	require.NoError(t, metric.Add(n.outputs, batch(target)))
	values = figures(t, metric.Result, names...)
	require.InDelta(t, 0.1, values["segm_mAP"], 1e-12)
	require.InDelta(t, 1, values["segm_mAP50"], 1e-12)

	target.Polygons = nil
	require.ErrorContains(t, metric.Add(n.outputs, batch(target)), "a.png: 0 polygons for 1 objects")
	delete(n.outputs, "prototypes")
	require.ErrorContains(t, metric.Add(n.outputs, batch(target)), "metric: prototype output has 0 elements")
	_, err := eval.NewMaskMetric[float64](0).Result()
	require.Error(t, err)
}

// Field case YO-05: masks keep to their image when others are empty.
func TestMaskMetricAfterEmptyImages(t *testing.T) {
	n := newNetwork[float64](t, 3)
	const cells = side / 4 * side / 4
	for i := range n.outputs["prototypes"] {
		n.outputs["prototypes"][i] = -1
	}
	for i := range cells {
		n.outputs["prototypes"][2*2*cells+i] = 1
	}
	object := geometry.Box{X1: 16, Y1: 16, X2: 80, Y2: 48}
	n.detect(2, 40, 0, 2, object)
	n.outputs["o2o_coeff"][2*(2*n.grid.Anchors()+40)] = 1
	metric := eval.NewMaskMetric[float64](classes)
	require.NoError(t, metric.Add(n.outputs, batch(data.Target{}, data.Target{},
		data.Target{Labels: []int{0}, Boxes: []geometry.Box{object}, Polygons: [][]geometry.Point{rectangle(object)}})))
	terms, err := metric.Result()
	require.NoError(t, err)
	require.Equal(t, "segm_mAP", terms[4].Name)
	require.InDelta(t, 1, terms[4].Value, 1e-12)
}

func TestKeypointMetric(t *testing.T) {
	object := geometry.Box{X1: 20, Y1: 20, X2: 100, Y2: 100}
	target := data.Target{
		Labels: []int{0}, Boxes: []geometry.Box{object},
		Keypoints:  [][]geometry.Point{{{X: 30, Y: 30}, {X: 80, Y: 90}}},
		Visibility: [][]uint8{{2, 1}},
	}
	// Both points are off by d, so the similarity is exp(-d^2 / (2 s k^2)) with
	// the area s = 50*60 of the tight box and k = 2*0.072: 0.78 passes six.
	d := math.Sqrt(-math.Log(0.78) * 2 * 3000 * 4 * 0.072 * 0.072)
	n := newNetwork[float64](t, 1)
	n.detect(0, 40, 0, 2, object)
	for k, p := range target.Keypoints[0] {
		raw := n.outputs["o2o_keypoint"][40*4*points+4*k:]
		raw[0], raw[1] = (p.X+d-n.grid.X[40])/8, (p.Y-n.grid.Y[40])/8
		raw[2], raw[3] = 100, 100 // spreads have no part
	}
	metric := eval.NewKeypointMetric[float64](classes, points)
	require.NoError(t, metric.Add(n.outputs, batch(target)))
	values := figures(t, metric.Result, append(append([]string{}, boxNames...), "oks_mAP", "oks_mAP50", "oks_mAP75")...)
	require.InDelta(t, 1, values["mAP"], 1e-12)
	require.InDelta(t, 0.6, values["oks_mAP"], 1e-12)
	require.InDelta(t, 1, values["oks_mAP75"], 1e-12)

	other := eval.NewKeypointMetric[float64](classes, 17)
	require.ErrorContains(t, other.Add(n.outputs, batch(target)), "a.png: detection 0: 2 keypoints where the set has 17")
	target.Keypoints, target.Visibility = nil, nil
	require.ErrorContains(t, metric.Add(n.outputs, batch(target)), "0 sets of keypoints for 1 objects")
	_, err := eval.NewKeypointMetric[float64](0, points).Result()
	require.Error(t, err)
}

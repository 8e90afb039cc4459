package eval_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
)

// The metrics are what a fit takes.
var (
	_ trainer.Metric[float32] = eval.NewOrientedMetric[float32](1)
	_ trainer.Metric[float64] = eval.NewBoxMetric[float64](1)
	_ trainer.Metric[float32] = eval.NewMaskMetric[float32](1)
	_ trainer.Metric[float64] = eval.NewKeypointMetric[float64](1, 17)
)

var orientedNames = []string{"rotated_mAP50", "rotated_mAP", "rotated_mAP75", "mar_300"}

// ship is a long box; moved along its length by s it overlaps by (40-s)/(40+s).
func ship(shift, angle float64) geometry.RotatedBox {
	sin, cos := math.Sincos(angle)
	return geometry.RotatedBox{CenterX: 60 + shift*cos, CenterY: 70 + shift*sin, Width: 40, Height: 12, Angle: angle}
}

func oriented(labels []int, difficult []bool, boxes ...geometry.RotatedBox) data.Target {
	target := data.Target{Labels: labels, Rotated: boxes, Difficult: difficult}
	for _, b := range boxes {
		target.Boxes = append(target.Boxes, b.Envelope())
	}
	return target
}

func TestOrientedMetric(t *testing.T) {
	t.Run("float32", testOrientedMetric[float32])
	t.Run("float64", testOrientedMetric[float64])
}

func testOrientedMetric[T device.Float](t *testing.T) {
	metric := eval.NewOrientedMetric[T](classes)
	n := newNetwork[T](t, 2)
	n.turn(0, 30, 1, 2, ship(0, 0.4))
	n.turn(1, 200, 1, 1, ship(5, -0.3)) // 35/45: passes up to 0.75
	n.turn(1, 17, 2, 3, ship(0, 0.2))   // only on a difficult object
	require.NoError(t, metric.Add(n.outputs, batch(
		oriented([]int{1}, nil, ship(0, 0.4)),
		oriented([]int{1, 2}, []bool{false, true}, ship(0, -0.3), ship(0, 0.2)),
	)))
	values := figures(t, metric.Result, orientedNames...)
	require.Equal(t, 1.0, values["rotated_mAP50"])
	require.Equal(t, 1.0, values["rotated_mAP75"])
	// Six thresholds find both, four find the better scored one.
	require.InDelta(t, 0.6+0.4*51/101, values["rotated_mAP"], 1e-12)
	require.InDelta(t, 0.6+0.4/2, values["mar_300"], 1e-12)
}

// A validation of many batches equals one of a single batch, and background
// images count.
func TestOrientedMetricOverBatches(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 1))
	const count = 6
	targets := make([]data.Target, count)
	n := newNetwork[float32](t, count)
	for i := range count {
		var labels []int
		var boxes []geometry.RotatedBox
		for range i % 3 {
			labels, boxes = append(labels, random.IntN(classes)), append(boxes, ship(random.Float64()*30, random.Float64()))
		}
		targets[i] = oriented(labels, nil, boxes...)
		for k := range 12 {
			n.turn(i, random.IntN(n.grid.Anchors()), random.IntN(classes), float64(random.IntN(5)), ship(random.Float64()*30, random.Float64()))
			if k < len(boxes) {
				n.turn(i, random.IntN(n.grid.Anchors()), labels[k], float64(random.IntN(5)), boxes[k])
			}
		}
	}
	whole, parts := eval.NewOrientedMetric[float32](classes), eval.NewOrientedMetric[float32](classes)
	require.NoError(t, whole.Add(n.outputs, batch(targets...)))
	for i := range count {
		one := trainer.Outputs[float32]{}
		for name, values := range n.outputs {
			length := len(values) / count
			one[name] = values[i*length : (i+1)*length]
		}
		require.NoError(t, parts.Add(one, batch(targets[i])))
	}
	want := figures(t, whole.Result, orientedNames...)
	require.Equal(t, want, figures(t, parts.Result, orientedNames...))
	require.Greater(t, want["rotated_mAP"], 0.1)
	require.Less(t, want["rotated_mAP"], 1.0)
}

func TestOrientedMetricWithoutObjects(t *testing.T) {
	metric := eval.NewOrientedMetric[float64](classes)
	n := newNetwork[float64](t, 1)
	require.NoError(t, metric.Add(n.outputs, batch(data.Target{})))
	for _, value := range figures(t, metric.Result, orientedNames...) {
		require.Equal(t, -1.0, value)
	}
}

func TestOrientedMetricRefusesBadInput(t *testing.T) {
	n := newNetwork[float64](t, 1)
	metric := eval.NewOrientedMetric[float64](classes)
	plain := data.Target{Labels: []int{0}, Boxes: make([]geometry.Box, 1)}
	require.EqualError(t, metric.Add(n.outputs, batch(plain)),
		"a.png: 0 rotated boxes for 1 objects; the metric needs one for each, so label them or validate another task")
	require.EqualError(t, metric.Add(n.outputs, batch(oriented([]int{3}, nil, ship(0, 0)))),
		"a.png: object 0: class 3 is outside 0..2; evaluate with the classes of the network")
	unnamed := batch(plain)
	unnamed.Paths = nil
	require.ErrorContains(t, metric.Add(n.outputs, unnamed), "image 0: ")
	short := batch(plain)
	short.Targets = nil
	require.EqualError(t, metric.Add(n.outputs, short), "metric: 0 targets for a batch of 1 images; give one per image")
	require.ErrorContains(t, metric.Add(n.outputs, batch(plain, plain)), "metric: class output has")
	delete(n.outputs, "o2o_angle")
	require.EqualError(t, metric.Add(n.outputs, batch(plain)),
		"metric: the network has no output o2o_angle; validate with the task that the network was built for")

	broken := eval.NewOrientedMetric[float64](0)
	require.EqualError(t, broken.Add(n.outputs, batch(plain)), "an evaluation of 0 classes; give at least 1")
	_, err := broken.Result()
	require.Error(t, err)
}

package eval_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// A tile of an oriented validation: 1024 pixels, 15 classes, 21504 anchors, 200
// objects and twice as many anchors that stand out around them.
func tile() (trainer.Outputs[float32], *data.Batch) {
	const anchors, classes = 21504, 15
	random := rand.New(rand.NewPCG(15, 1))
	outputs := trainer.Outputs[float32]{
		"o2o_cls": make([]float32, anchors*classes), "o2o_box": make([]float32, anchors*4), "o2o_angle": make([]float32, anchors),
	}
	for i := range outputs["o2o_cls"] {
		outputs["o2o_cls"][i] = float32(random.NormFloat64() - 9)
	}
	for i := range outputs["o2o_box"] {
		outputs["o2o_box"][i] = float32(1 + random.Float64())
	}
	var target data.Target
	for range 200 {
		anchor, class := random.IntN(128*128), random.IntN(classes)
		box := geometry.RotatedBox{
			CenterX: float64(anchor%128)*8 + 4, CenterY: float64(anchor/128)*8 + 4, Width: 26, Height: 20, Angle: random.Float64(),
		}
		target.Labels, target.Boxes = append(target.Labels, class), append(target.Boxes, box.Envelope())
		target.Rotated = append(target.Rotated, box)
		for _, near := range []int{anchor, min(anchor+1, anchors-1)} {
			outputs["o2o_cls"][near*classes+class] = float32(random.NormFloat64())
			outputs["o2o_angle"][near] = float32(box.Angle)
		}
	}
	return outputs, &data.Batch{N: 1, H: 1024, W: 1024, Targets: []data.Target{target}}
}

func BenchmarkOrientedMetricAdd(b *testing.B) {
	outputs, batch := tile()
	metric := eval.NewOrientedMetric[float32](15)
	for b.Loop() {
		require.NoError(b, metric.Add(outputs, batch))
	}
}

func BenchmarkOrientedMetricResult(b *testing.B) {
	outputs, batch := tile()
	metric := eval.NewOrientedMetric[float32](15)
	for range 500 {
		require.NoError(b, metric.Add(outputs, batch))
	}
	for b.Loop() {
		_, err := metric.Result()
		require.NoError(b, err)
	}
}

package precision_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/eval/precision"
	"github.com/reprise-ml/reprise/internal/geometry"
)

func coco(t *testing.T, classes, limit int) *precision.COCO {
	t.Helper()
	e, err := precision.NewCOCO(classes, limit)
	require.NoError(t, err)
	return e
}

func box(x1, y1, x2, y2 float64) geometry.Box { return geometry.Box{X1: x1, Y1: y1, X2: x2, Y2: y2} }

func TestBoxes(t *testing.T) {
	detection := func(score float64, b geometry.Box) decode.Detection {
		return decode.Detection{Pick: decode.Pick{Score: score}, Box: b}
	}
	// The overlap 0.861575179 passes eight of the ten thresholds.
	e := coco(t, 1, 100)
	near := []decode.Detection{detection(0.9, box(12, 11, 52, 49))}
	require.NoError(t, e.AddBoxes(near, []precision.BoxObject{
		{Object: precision.Object{Area: 1600}, Box: box(10, 10, 50, 50)},
	}))
	require.InDelta(t, 0.8, e.Precision(precision.AllAreas), 1e-12)
	require.InDelta(t, 0.8, e.Precision(precision.Medium), 1e-12)

	// An object without area is dropped, whatever its annotated area.
	e = coco(t, 1, 100)
	require.NoError(t, e.AddBoxes(near, []precision.BoxObject{
		{Object: precision.Object{Area: 1600}, Box: box(30, 30, 30, 60)},
	}))
	require.Equal(t, -1.0, e.Precision(precision.AllAreas))

	require.EqualError(t, e.AddBoxes(nil, []precision.BoxObject{{}, {Object: precision.Object{Class: 1}, Box: box(0, 0, 1, 1)}}),
		"object 1: class 1 is outside 0..0; evaluate with the classes of the network")

	// A crowd excuses a small detection inside it: it covers all of it.
	e = coco(t, 1, 100)
	require.NoError(t, e.AddBoxes(
		[]decode.Detection{detection(0.9, box(10, 10, 20, 20)), detection(0.5, box(300, 300, 340, 340))},
		[]precision.BoxObject{
			{Object: precision.Object{Area: 40000, Crowd: true}, Box: box(0, 0, 200, 200)},
			{Object: precision.Object{Area: 1600}, Box: box(300, 300, 340, 340)},
		}))
	require.Equal(t, 1.0, e.Precision(precision.AllAreas))
}

func TestMasks(t *testing.T) {
	square := func(b geometry.Box) *mask.Bitmap {
		return mask.Rasterise([]geometry.Point{{X: b.X1, Y: b.Y1}, {X: b.X2, Y: b.Y1}, {X: b.X2, Y: b.Y2}, {X: b.X1, Y: b.Y2}}, 40, 30)
	}
	detections := []precision.MaskDetection{{Pick: decode.Pick{Score: 0.9}, Mask: square(box(0, 0, 20, 10))}}
	// 150 of 250 pixels: 0.6, which passes three thresholds.
	e := coco(t, 1, 100)
	require.NoError(t, e.AddMasks(detections, []precision.MaskObject{{Object: precision.Object{Area: 200}, Mask: square(box(5, 0, 25, 10))}}))
	require.InDelta(t, 0.3, e.Precision(precision.AllAreas), 1e-12)

	// Half of the detection lies in the crowd.
	target := precision.MaskObject{Object: precision.Object{Area: 100}, Mask: square(box(30, 20, 40, 30))}
	crowd := precision.MaskObject{Object: precision.Object{Area: 400, Crowd: true}, Mask: square(box(10, 0, 40, 15))}
	found := precision.MaskDetection{Pick: decode.Pick{Score: 0.5}, Mask: target.Mask}
	e = coco(t, 1, 100)
	require.NoError(t, e.AddMasks(append(detections, found), []precision.MaskObject{target, crowd}))
	require.InDelta(t, 1, e.Precision50(), 1e-12)
	require.InDelta(t, 0.5, e.Precision75(), 1e-12)

	// Masks without a pixel overlap nothing.
	e = coco(t, 1, 100)
	require.NoError(t, e.AddMasks([]precision.MaskDetection{{Mask: mask.New(40, 30)}}, []precision.MaskObject{{Mask: mask.New(40, 30)}}))
	require.Zero(t, e.Precision(precision.AllAreas))

	require.EqualError(t, e.AddMasks(detections, []precision.MaskObject{{Mask: mask.New(30, 40)}}),
		"detection 0: a mask of 40 x 30 pixels beside an annotated one of 30 x 40; rasterise both on one grid")
}

func TestOKS(t *testing.T) {
	// The worked example of the YOLO26 specification, objective section 2.10.
	object := precision.KeypointObject{
		Object:     precision.Object{Area: 1200},
		Points:     []geometry.Point{{X: 12, Y: 12}, {X: 20, Y: 33}},
		Visibility: []uint8{2, 1},
	}
	points, sigmas := []geometry.Point{{X: 10, Y: 12}, {X: 22, Y: 30}}, []float64{0.026, 0.025}
	require.InDelta(t, 0.327229566, precision.OKS(points, object, sigmas), 5e-10)
	object.Visibility[1] = 0
	require.InDelta(t, 0.539900288, precision.OKS(points, object, sigmas), 5e-10)

	// Without a labelled point the box decides: widened to [-10,20] x [-10,20].
	object = precision.KeypointObject{
		Object: precision.Object{Area: 100}, Box: box(0, 0, 10, 10),
		Points: make([]geometry.Point, 2), Visibility: make([]uint8, 2),
	}
	require.Equal(t, 1.0, precision.OKS([]geometry.Point{{X: -10, Y: 20}, {X: 5, Y: 5}}, object, sigmas))
	want := (1 + math.Exp(-9/(2*100*4*0.025*0.025))) / 2
	require.InDelta(t, want, precision.OKS([]geometry.Point{{X: 0, Y: 0}, {X: 23, Y: 5}}, object, sigmas), 1e-12)
	require.Zero(t, precision.OKS(nil, object, nil))
}

func TestSigmas(t *testing.T) {
	person := precision.Sigmas(17)
	require.Equal(t, []float64{.026, .025, .025, .035, .035, .079, .079, .072, .072, .062, .062, .107, .107, .087, .087, .089, .089}, person)
	require.Equal(t, []float64{0.072, 0.072}, precision.Sigmas(2))
	person[0] = 1
	require.Equal(t, .026, precision.Sigmas(17)[0])
}

func TestKeypoints(t *testing.T) {
	sigmas := precision.Sigmas(2)
	person := func(x float64, visibility ...uint8) precision.KeypointObject {
		return precision.KeypointObject{
			Object: precision.Object{Area: 2000}, Box: box(x, 0, x+40, 50),
			Points: []geometry.Point{{X: x + 10, Y: 10}, {X: x + 30, Y: 40}}, Visibility: visibility,
		}
	}
	detected := func(score, x, shift float64) precision.KeypointDetection {
		return precision.KeypointDetection{
			Pick:   decode.Pick{Score: score},
			Points: []geometry.Point{{X: x + 10 + shift, Y: 10}, {X: x + 30 + shift, Y: 40}},
		}
	}
	// The better scored detection lies on a person without labelled points.
	e := coco(t, 1, 20)
	require.NoError(t, e.AddKeypoints(
		[]precision.KeypointDetection{detected(0.9, 200, 0), detected(0.8, 0, 0)},
		[]precision.KeypointObject{person(0, 2, 2), person(200, 0, 0)}, sigmas))
	require.Equal(t, 1.0, e.Precision(precision.AllAreas))
	points, err := e.Curve(0, 0)
	require.NoError(t, err)
	require.Len(t, points, 1) // the excused one is not on the curve

	// A shift with similarity 0.7 passes the thresholds up to it.
	shift := math.Sqrt(-math.Log(0.7001) * 2 * 2000 * 4 * 0.072 * 0.072)
	e = coco(t, 1, 20)
	require.NoError(t, e.AddKeypoints([]precision.KeypointDetection{detected(0.9, 0, shift)}, []precision.KeypointObject{person(0, 1, 2)}, sigmas))
	require.InDelta(t, 0.5, e.Precision(precision.AllAreas), 1e-12)
	require.InDelta(t, 0.5, e.Recall(precision.Medium, 20), 1e-12)

	require.EqualError(t, e.AddKeypoints([]precision.KeypointDetection{{}}, nil, sigmas),
		"detection 0: 0 keypoints where the set has 2; pass outputs of a network for this set")
	require.EqualError(t, e.AddKeypoints(nil, []precision.KeypointObject{person(0, 1)}, sigmas),
		"object 0: 2 keypoints and 1 visibilities where the set has 2; correct the annotation")
}

package precision_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/precision"
)

var decimals = []float64{0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95}

// randomScene draws overlaps on the thresholds themselves and scores with many
// ties, where the rules differ most.
func randomScene(random *rand.Rand, classes int) scene {
	area := func() float64 { return []float64{300, 1023, 1024, 4000, 9216, 9217, 50000}[random.IntN(7)] }
	var s scene
	for range random.IntN(9) {
		s.objects = append(s.objects, precision.Object{
			Class: random.IntN(classes), Area: area(), Crowd: random.IntN(6) == 0, Ignore: random.IntN(6) == 0,
		})
	}
	for range random.IntN(16) {
		s.detections = append(s.detections, precision.Detection{
			Class: random.IntN(classes), Score: float64(1+random.IntN(12)) / 12, Area: area(),
		})
		row := make([]float64, len(s.objects))
		for o := range row {
			row[o] = float64(random.IntN(21)) / 20
		}
		s.overlaps = append(s.overlaps, row)
	}
	return s
}

func anyArea(float64) bool     { return true }
func small(area float64) bool  { return area < 1024 }
func medium(area float64) bool { return 1024 <= area && area <= 9216 }
func large(area float64) bool  { return 9216 < area }

// referenceCases name the figures that the reference gives for an area range, a
// cap and thresholds.
var referenceCases = []struct {
	holds      func(area float64) bool
	limit      int
	thresholds []float64
	ap, ar     string
}{
	{anyArea, 100, decimals, "map", "mar_100"},
	{anyArea, 100, decimals[:1], "map_50", "oks_mar_50"},
	{anyArea, 100, decimals[5:6], "map_75", "oks_mar_75"},
	{small, 100, decimals, "map_s", "mar_s"},
	{medium, 100, decimals, "map_m", "mar_m"},
	{large, 100, decimals, "map_l", "mar_l"},
	{anyArea, 1, decimals, "", "mar_1"},
	{anyArea, 10, decimals, "", "mar_10"},
	{anyArea, 100, decimals, "oks_map", "oks_mar"},
	{anyArea, 100, decimals[:1], "oks_map_50", "oks_mar_50"},
	{anyArea, 100, decimals[5:6], "oks_map_75", "oks_mar_75"},
	{medium, 100, decimals, "oks_map_m", "oks_mar_m"},
	{large, 100, decimals, "oks_map_l", "oks_mar_l"},
}

func TestCOCOEqualsReference(t *testing.T) {
	random := rand.New(rand.NewPCG(10, 1))
	for round := range 30 {
		const classes = 4 // of which the last has no objects
		limit := []int{2, 5, 100}[round%3]
		e, err := precision.NewCOCO(classes, limit)
		require.NoError(t, err)
		var scenes []scene
		for range 12 {
			s := randomScene(random, classes-1)
			scenes = append(scenes, s)
			require.NoError(t, e.Add(s.detections, s.objects, func(d, o int) float64 { return s.overlaps[d][o] }))
		}
		figures := map[string]float64{}
		for _, f := range e.BoxFigures("") {
			figures[f.Name] = f.Value
		}
		for _, f := range e.KeypointFigures() {
			figures[f.Name] = f.Value
		}
		for _, test := range referenceCases {
			ap, ar := referenceFigures(scenes, classes, min(limit, test.limit), test.holds, test.thresholds)
			if test.ap != "" {
				require.InDelta(t, ap, figures[test.ap], 1e-12, "%d %s", round, test.ap)
			}
			require.InDelta(t, ar, figures[test.ar], 1e-12, "%d %s", round, test.ar)
		}
	}
}

// table evaluates one class in one image from a table of overlaps.
func table(t *testing.T, detections []precision.Detection, objects []precision.Object, overlaps ...[]float64) *precision.COCO {
	t.Helper()
	e, err := precision.NewCOCO(1, 100)
	require.NoError(t, err)
	require.NoError(t, e.Add(detections, objects, func(d, o int) float64 { return overlaps[d][o] }))
	return e
}

func TestCrowdExcusesAnyNumberOfDetections(t *testing.T) {
	detections := []precision.Detection{{Score: 0.9}, {Score: 0.8}, {Score: 0.7}}
	objects := []precision.Object{{Area: 1}, {Area: 1, Crowd: true}}
	overlaps := [][]float64{{0, 1}, {0, 1}, {1, 1}}
	require.Equal(t, 1.0, table(t, detections, objects, overlaps...).Precision(precision.AllAreas))
	// An ignored object excuses one.
	objects[1] = precision.Object{Area: 1, Ignore: true}
	require.InDelta(t, 0.5, table(t, detections, objects, overlaps...).Precision(precision.AllAreas), 1e-12)
}

func TestDetectionBesideItsRangeIsIgnored(t *testing.T) {
	detections := []precision.Detection{{Score: 0.9, Area: 50000}, {Score: 0.8, Area: 100}}
	objects := []precision.Object{{Area: 100}}
	e := table(t, detections, objects, []float64{0}, []float64{1})
	require.InDelta(t, 0.5, e.Precision(precision.AllAreas), 1e-12)
	require.Equal(t, 1.0, e.Precision(precision.Small))
	require.Equal(t, -1.0, e.Precision(precision.Large)) // no ground truth
	require.Equal(t, -1.0, e.Recall(precision.Medium, 100))
}

func TestCOCOCurve(t *testing.T) {
	detections := []precision.Detection{{Score: 0.5}, {Score: 0.9}, {Score: 0.7}}
	objects := []precision.Object{{Area: 1}, {Area: 1}}
	e := table(t, detections, objects, []float64{0, 0.6}, []float64{0.8, 0}, []float64{0, 0})
	points, err := e.Curve(0, 0)
	require.NoError(t, err)
	require.Equal(t, []precision.CurvePoint{
		{Score: 0.9, Precision: 1, Recall: 0.5, Hits: 1},
		{Score: 0.7, Precision: 0.5, Recall: 0.5, Hits: 1},
		{Score: 0.5, Precision: 2.0 / 3, Recall: 1, Hits: 2},
	}, points)
	points, err = e.Curve(0, 5)
	require.NoError(t, err)
	require.Equal(t, 1, points[2].Hits)
	_, err = e.Curve(0, 10)
	require.EqualError(t, err, "curve of class 0 at threshold 10; give a class in 0..0 and a threshold in 0..9")
}

func TestCOCOWithoutImages(t *testing.T) {
	e, err := precision.NewCOCO(2, 100)
	require.NoError(t, err)
	names := []string{"map", "map_50", "map_75", "map_s", "map_m", "map_l", "mar_1", "mar_10", "mar_100", "mar_s", "mar_m", "mar_l"}
	for i, f := range e.BoxFigures("segm_") {
		require.Equal(t, precision.Figure{Name: "segm_" + names[i], Value: -1}, f)
	}
	require.Len(t, e.BoxFigures(""), 12)
	require.Len(t, e.KeypointFigures(), 10)
	points, err := e.Curve(1, 0)
	require.NoError(t, err)
	require.Empty(t, points)
}

func TestCOCORefusesBadInput(t *testing.T) {
	_, err := precision.NewCOCO(0, 100)
	require.EqualError(t, err, "an evaluation of 0 classes; give at least 1")
	_, err = precision.NewCOCO(1, 0)
	require.EqualError(t, err, "a limit of 0 detections; give at least 1")

	e, err := precision.NewCOCO(2, 100)
	require.NoError(t, err)
	same := func(int, int) float64 { return 1 }
	require.NoError(t, e.Add([]precision.Detection{{Score: 1}}, []precision.Object{{}}, same))
	require.EqualError(t, e.Add([]precision.Detection{{Score: 1}, {Class: 2}}, []precision.Object{{}}, same),
		"detection 1: class 2 is outside 0..1; evaluate with the classes of the network")
	require.ErrorContains(t, e.Add(nil, []precision.Object{{Class: -1}}, same), "object 0: class -1")
	require.ErrorContains(t, e.Add([]precision.Detection{{Score: math.NaN()}}, nil, same), "score is not a number")
	require.Equal(t, 1.0, e.Precision(precision.AllAreas)) // nothing of it was counted
}

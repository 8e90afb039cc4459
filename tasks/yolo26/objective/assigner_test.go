package objective

import (
	"math"
	"runtime"
	"testing"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/stretchr/testify/require"
)

// metrics lists T and U of every anchor for one object; T is 0 outside the
// candidates.
func (s scene) metrics(object int) (metric, overlap []float64) {
	metric, overlap = make([]float64, s.grid.Anchors()), make([]float64, s.grid.Anchors())
	for anchor := range overlap {
		overlap[anchor] = overlapOf(s.truth.Boxes[object], DecodeBox(s.grid, anchor, s.output.Box[anchor*4:]), 1e-9)
	}
	view := imageView[float64]{grid: s.grid, classes: s.classes, logits: s.output.Class, ltrb: s.output.Box}
	for _, entry := range topAnchors(manyOf(s.grid.Anchors()), view, s.truth, object) {
		metric[entry.anchor] = entry.metric
	}
	return metric, overlap
}

func TestMetricsOfTheWorkedExamples(t *testing.T) {
	a := exampleA(t, 0, 1)
	metric, overlap := a.metrics(0)
	nearAll(t, []float64{0.875, 0.620253165, 0.22826087}, overlap)
	nearAll(t, []float64{0.269277191, 0.0284697686, 0}, metric)
	metric, overlap = a.metrics(1)
	nearAll(t, []float64{0.208333333, 0.340540541, 0.816666667}, overlap)
	nearAll(t, []float64{0, 0.000623839569, 0.207666775}, metric)

	b := exampleB(t)
	metric, _ = b.metrics(0)
	nearAll(t, []float64{0.0298023224, 0.28314264, 0}, metric)
	metric, _ = b.metrics(1)
	nearAll(t, []float64{0.0003645, 0.0615587452, 0.0263374486}, metric)

	c := exampleC(t)
	for object := range 2 {
		metric, _ = c.metrics(object)
		nearAll(t, []float64{0.339467078, 0.330620885, 0.0178813934, 0.0355957031}, metric)
	}
}

func TestAssignmentOfTheWorkedExamples(t *testing.T) {
	inverted := newScene(t, NewGrid(Level{1, 3, 8}),
		[]geometry.Box{xyxy(14, 8, 0, 0), xyxy(18, 9, 2, 1), xyxy(24, 7, 10, 0)}, [][]float64{{.6}, {.5}, {.2}},
		[]int{0}, []geometry.Box{xyxy(0, 0, 16, 8)})
	for _, c := range []struct {
		name     string
		scene    scene
		assigner Assigner
		objects  []int
		quality  []float64
		sum      float64
	}{
		{"a o2m", exampleA(t, 0, 1), manyOf(2), []int{0, 0, 1}, []float64{0.875, 0.0925107967, 0.816666667}, 1.78417746},
		{"a o2o", exampleA(t, 0, 1), oneOf(2), []int{0, -1, 1}, []float64{0.875, 0, 0.816666667}, 1.69166667},
		{"a first object", exampleA(t, 0), manyOf(2), []int{0, 0, -1}, []float64{0.875, 0.0925107967, 0}, 0.967510797},
		{"b o2m", exampleB(t), manyOf(7), []int{0, 0, 1}, []float64{0.0928725071, 0.882352941, 0.666666667}, 0.0928725071 + 0.882352941 + 0.666666667},
		{"b o2o falls back", exampleB(t), oneOf(7), []int{-1, 0, 1}, []float64{0, 0.882352941, 0.666666667}, 0.882352941 + 0.666666667},
		{"c o2m", exampleC(t), manyOf(2), []int{0, 0, -1, -1}, []float64{0.96875, 0.943505285, 0, 0}, 0.96875 + 0.943505285},
		{"c o2o", exampleC(t), oneOf(7), []int{0, -1, -1, -1}, []float64{0.9375, 0, 0, 0}, 0.9375},
		{"g inverted", inverted, manyOf(10), []int{0, 0, -1}, []float64{0, 0, 0}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			assignment := c.scene.assign(c.assigner)
			objects, quality := c.scene.dense(assignment, 0)
			require.Equal(t, c.objects, objects)
			nearAll(t, c.quality, quality)
			near(t, c.sum, assignment.Quality)
			near(t, max(c.sum, 1), assignment.Normaliser)
			positives := 0
			for _, positive := range assignment.Images[0] {
				positives++
				require.Equal(t, c.scene.truth.Labels[positive.Object], positive.Label)
			}
			require.Equal(t, positives, assignment.Count)
		})
	}
}

// Worked example (f): the floor of the quality must not erase a weak positive.
func TestWeakOverlapKeepsItsQuality(t *testing.T) {
	// A box of 1 x 1 inside one of 10 x 10 has overlap 0.01.
	s := newScene(t, NewGrid(Level{1, 1, 8}), []geometry.Box{xyxy(0, 0, 1, 1)}, [][]float64{{.01}},
		[]int{0}, []geometry.Box{xyxy(0, 0, 10, 10)})
	metric, _ := s.metrics(0)
	require.InDelta(t, 1e-14, metric[0], 1e-22)
	_, quality := s.dense(s.assign(OneToManyAssigner()), 0)
	near(t, 0.01, quality[0])
}

func TestTies(t *testing.T) {
	grid := NewGrid(Level{1, 4, 8})
	equal := []geometry.Box{xyxy(0, 0, 32, 8), xyxy(0, 0, 32, 8), xyxy(0, 0, 32, 8), xyxy(0, 0, 32, 8)}
	probabilities := [][]float64{{.5}, {.5}, {.5}, {.5}}
	twice := newScene(t, grid, equal, probabilities, []int{0, 0}, equal[:2])

	// Top-k takes the lowest anchors, conflicts go to the lowest object, and
	// the unique choice is the lowest anchor.
	objects, _ := twice.dense(twice.assign(manyOf(2)), 0)
	require.Equal(t, []int{0, 0, -1, -1}, objects)
	objects, _ = twice.dense(twice.assign(oneOf(3)), 0)
	require.Equal(t, []int{0, -1, -1, -1}, objects)

	// All metrics 0: still min(k, candidates) anchors, the lowest ones.
	far := []geometry.Box{xyxy(90, 90, 99, 99), xyxy(90, 90, 99, 99), xyxy(90, 90, 99, 99), xyxy(90, 90, 99, 99)}
	zero := newScene(t, grid, far, probabilities, []int{0}, equal[:1])
	objects, quality := zero.dense(zero.assign(manyOf(3)), 0)
	require.Equal(t, []int{0, 0, 0, -1}, objects)
	require.Equal(t, []float64{0, 0, 0, 0}, quality)
}

// Field case YO-11.
func TestTopKIsBoundedByTheCandidates(t *testing.T) {
	for _, topK := range []int{10, 13, 1000} {
		s := randomScene(t, 3, canvas(t, 32, 32), 32, 1, 0, 2, false)
		require.Equal(t, 21, s.grid.Anchors())
		var err error
		s.truth, err = Pad([][]int{{1}}, [][]geometry.Box{{xyxy(0, 0, 32, 32)}}, 2)
		require.NoError(t, err)
		require.Equal(t, min(topK, 21), s.assign(manyOf(topK)).Count)
		require.Equal(t, 1, s.assign(oneOf(topK)).Count)
	}
	single := newScene(t, NewGrid(Level{1, 1, 32}), []geometry.Box{xyxy(0, 0, 30, 30)}, [][]float64{{.5}},
		[]int{0}, []geometry.Box{xyxy(0, 0, 32, 32)})
	require.Equal(t, [][][2]int{{{0, 0}}}, single.assign(manyOf(10)).Pairs())
}

func TestAssignmentDoesNotDependOnTheNumberOfProcessors(t *testing.T) {
	s := randomScene(t, 4, canvas(t, 96, 96), 96, 5, 9, 3, true)
	want := s.assign(OneToManyAssigner())
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, processors := range []int{1, 3, 8} {
		runtime.GOMAXPROCS(processors)
		require.Equal(t, want, s.assign(OneToManyAssigner()))
	}
}

func TestAssignmentOfBrokenOutputsEnds(t *testing.T) {
	for _, broken := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		s := randomScene(t, 5, canvas(t, 64, 64), 64, 2, 8, 2, true)
		for i := range s.output.Box {
			if i%3 == 0 {
				s.output.Box[i] = broken
			}
		}
		s.output.Class[5] = broken
		require.Positive(t, s.assign(OneToManyAssigner()).Count)
		require.Positive(t, s.assign(OneToOneAssigner()).Count)
	}
}

func TestAssignerValidate(t *testing.T) {
	require.NoError(t, OneToManyAssigner().Validate())
	require.NoError(t, OneToOneAssigner().Validate())
	for name, c := range map[string]struct {
		change func(*Assigner)
		want   string
	}{
		"top-k":            {func(a *Assigner) { a.TopK = 0 }, "top-k of 0"},
		"class exponent":   {func(a *Assigner) { a.ClassExponent = -1 }, "class exponent of -1"},
		"overlap exponent": {func(a *Assigner) { a.OverlapExponent = math.NaN() }, "overlap exponent of NaN"},
		"epsilon":          {func(a *Assigner) { a.OverlapEpsilon = 0 }, "overlap epsilon of 0"},
		"small side":       {func(a *Assigner) { a.SmallSide = math.Inf(1) }, "small side of +Inf"},
		"inflated side":    {func(a *Assigner) { a.InflatedSide = 7 }, "below the small side of 8 px"},
	} {
		t.Run(name, func(t *testing.T) {
			assigner := OneToManyAssigner()
			c.change(&assigner)
			require.ErrorContains(t, assigner.Validate(), c.want)
		})
	}
	zero := OneToManyAssigner()
	zero.ClassExponent, zero.OverlapExponent = 0, 0
	require.NoError(t, zero.Validate(), "an exponent of 0 is a choice")
}

package objective

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/stretchr/testify/require"
)

// near requires want within 1e-8 relative, half a unit of the ninth digit that
// the specification prints, and exactly where want is 0.
func near(t *testing.T, want, got float64, what ...any) {
	t.Helper()
	require.InDelta(t, want, got, 1e-8*math.Abs(want), what...)
}

func nearAll(t *testing.T, want, got []float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		near(t, want[i], got[i], "element %d", i)
	}
}

func logit(p float64) float64 { return math.Log(p / (1 - p)) }

// encode is the inverse of DecodeBox.
func encode(grid *Grid, anchor int, box geometry.Box) []float64 {
	x, y, stride := grid.X[anchor], grid.Y[anchor], grid.Stride[anchor]
	return []float64{(x - box.X1) / stride, (y - box.Y1) / stride, (box.X2 - x) / stride, (box.Y2 - y) / stride}
}

// scene is one image on a small grid, given by decoded boxes and probabilities.
type scene struct {
	grid    *Grid
	classes int
	output  Dense[float64]
	truth   *GroundTruth
}

func newScene(t *testing.T, grid *Grid, predicted []geometry.Box, probabilities [][]float64, labels []int, boxes []geometry.Box) scene {
	t.Helper()
	s := scene{grid: grid, classes: len(probabilities[0])}
	for anchor, box := range predicted {
		s.output.Box = append(s.output.Box, encode(grid, anchor, box)...)
		for _, p := range probabilities[anchor] {
			s.output.Class = append(s.output.Class, logit(p))
		}
	}
	var err error
	s.truth, err = Pad([][]int{labels}, [][]geometry.Box{boxes}, s.classes)
	require.NoError(t, err)
	return s
}

func (s scene) assign(assigner Assigner) *Assignment {
	return Assign(assigner, s.grid, s.classes, s.output, s.truth)
}

// dense lists object and quality of every anchor of an image, -1 and 0 for
// background.
func (s scene) dense(assignment *Assignment, image int) (objects []int, quality []float64) {
	objects, quality = make([]int, s.grid.Anchors()), make([]float64, s.grid.Anchors())
	for anchor := range objects {
		objects[anchor] = -1
	}
	for _, positive := range assignment.Images[image] {
		objects[positive.Anchor] = positive.Object
		quality[positive.Anchor] = positive.Quality
	}
	return objects, quality
}

func manyOf(topK int) Assigner {
	assigner := OneToManyAssigner()
	assigner.TopK = topK
	return assigner
}

func oneOf(topK int) Assigner {
	assigner := OneToOneAssigner()
	assigner.TopK = topK
	return assigner
}

// exampleA is worked example (a) of section 1.3.
func exampleA(t *testing.T, objects ...int) scene {
	labels, boxes := []int{1, 0}, []geometry.Box{xyxy(0, 0, 16, 8), xyxy(9, 0, 24, 8)}
	var keptLabels []int
	var keptBoxes []geometry.Box
	for _, n := range objects {
		keptLabels, keptBoxes = append(keptLabels, labels[n]), append(keptBoxes, boxes[n])
	}
	return newScene(t, NewGrid(Level{1, 3, 8}),
		[]geometry.Box{xyxy(0, 0, 14, 8), xyxy(2, 1, 18, 9), xyxy(10, 0, 24, 7)},
		[][]float64{{.1, .6}, {.4, .5}, {.7, .2}},
		keptLabels, keptBoxes)
}

// exampleB is worked example (b) of section 1.3.
func exampleB(t *testing.T) scene {
	return newScene(t, NewGrid(Level{1, 3, 8}),
		[]geometry.Box{xyxy(0, 0, 10, 8), xyxy(1, 0, 17, 8), xyxy(8, 0, 22, 8)},
		[][]float64{{.5}, {.6}, {.3}},
		[]int{0, 0}, []geometry.Box{xyxy(0, 0, 16, 8), xyxy(4, 0, 20, 8)})
}

// exampleC is worked example (c) of section 1.3.
func exampleC(t *testing.T) scene {
	return newScene(t, NewGrid(Level{1, 4, 8}),
		[]geometry.Box{xyxy(0, 0, 30, 8), xyxy(1, 0, 32, 8), xyxy(0, 0, 20, 8), xyxy(4, 0, 28, 8)},
		[][]float64{{.5}, {.4}, {.3}, {.2}},
		[]int{0, 0}, []geometry.Box{xyxy(0, 0, 32, 8), xyxy(0, 0, 32, 8)})
}

// canvas returns the three-level grid of an image.
func canvas(t testing.TB, height, width int) *Grid {
	t.Helper()
	levels, err := CanvasLevels(height, width)
	require.NoError(t, err)
	return NewGrid(levels...)
}

// randomScene draws images with predictions around their objects; oriented
// scenes have rotated boxes with their envelopes.
func randomScene(t testing.TB, seed uint64, grid *Grid, side float64, images, objects, classes int, oriented bool) scene {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 26))
	s := scene{grid: grid, classes: classes}
	labels, boxes, rotated := make([][]int, images), make([][]geometry.Box, images), make([][]geometry.RotatedBox, images)
	for b := range images {
		for range random.IntN(objects + 1) {
			box := geometry.RotatedBox{
				CenterX: side * random.Float64(), CenterY: side * random.Float64(),
				Width: 2 + side/2*random.Float64(), Height: 2 + side/3*random.Float64(), Angle: 6 * random.Float64(),
			}.Canonical()
			labels[b], rotated[b] = append(labels[b], random.IntN(classes)), append(rotated[b], box)
			boxes[b] = append(boxes[b], box.Envelope())
		}
		for range grid.Anchors() {
			for range 4 {
				s.output.Box = append(s.output.Box, 3*random.Float64()-0.3)
			}
			for range classes {
				s.output.Class = append(s.output.Class, 3*random.NormFloat64())
			}
		}
	}
	var err error
	s.truth, err = Pad(labels, boxes, classes)
	require.NoError(t, err)
	if oriented {
		require.NoError(t, s.truth.SetRotated(rotated))
	}
	return s
}

// slope is the central difference of f along one variable.
func slope(variable *float64, f func() float64) float64 {
	const step = 1e-6
	at := *variable
	*variable = at + step
	up := f()
	*variable = at - step
	down := f()
	*variable = at
	return (up - down) / (2 * step)
}

func xyxy(x1, y1, x2, y2 float64) geometry.Box {
	return geometry.Box{X1: x1, Y1: y1, X2: x2, Y2: y2}
}

func rbox(centerX, centerY, width, height, angle float64) geometry.RotatedBox {
	return geometry.RotatedBox{CenterX: centerX, CenterY: centerY, Width: width, Height: height, Angle: angle}
}

func finite(values ...float64) bool { return Finite(values) }

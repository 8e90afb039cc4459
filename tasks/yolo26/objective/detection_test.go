package objective

import (
	"math"
	"runtime"
	"testing"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/stretchr/testify/require"
)

// detect evaluates the detection terms of a scene with fresh cotangents.
func (s scene) detect(assignment *Assignment, gains Gains, weight float64) (DetectionTerms, Dense[float64]) {
	cotangent := Dense[float64]{Class: make([]float64, len(s.output.Class)), Box: make([]float64, len(s.output.Box))}
	terms := Detection(DefaultLosses(), gains, s.grid, s.classes, s.output, s.truth, assignment, weight, cotangent)
	return terms, cotangent
}

func TestDetectionOfExampleA(t *testing.T) {
	s := exampleA(t, 0, 1)
	many, _ := s.detect(s.assign(manyOf(2)), DefaultGains(), 1)
	nearAll(t, []float64{1.46061621, 0.167880418, 0.275925335}, []float64{many.Class, many.Box, many.L1})
	near(t, 2.60599852, many.Class*s.assign(manyOf(2)).Normaliser)
	near(t, 3.64496324, many.Total(DefaultGains()))

	one, _ := s.detect(s.assign(oneOf(2)), DefaultGains(), 1)
	nearAll(t, []float64{1.54049174, 0.155619113, 0.25}, []float64{one.Class, one.Box, one.L1})
	near(t, 3.43738922, one.Total(DefaultGains()))

	// Section 3.1: the blend of both branches.
	for alpha, want := range map[float64]float64{0.8: 3.60344844, 0.1: 3.45814662} {
		near(t, want, alpha*many.Total(DefaultGains())+(1-alpha)*one.Total(DefaultGains()))
	}

	for anchor, want := range []float64{0.128137344, 0.392092515, 0.185063866} {
		target := s.truth.Boxes[[]int{0, 0, 1}[anchor]]
		loss, _ := CompleteIoULoss(DecodeBox(s.grid, anchor, s.output.Box[anchor*4:]), target)
		near(t, want, loss)
		distance, _ := cornerL1(DecodeBox(s.grid, anchor, s.output.Box[anchor*4:]), target, 8)
		near(t, []float64{0.25, 0.75, 0.25}[anchor], distance)
	}
}

// Section 4.2. Field case YO-01.
func TestDetectionWithoutObjects(t *testing.T) {
	s := exampleA(t)
	for _, assigner := range []Assigner{OneToManyAssigner(), OneToOneAssigner()} {
		terms, cotangent := s.detect(s.assign(assigner), DefaultGains(), 1)
		near(t, 3.65274041, terms.Class)
		require.Equal(t, [2]float64{0, 0}, [2]float64{terms.Box, terms.L1})
		near(t, 1.8263702, terms.Total(DefaultGains()))
		for _, slope := range cotangent.Class {
			require.Positive(t, slope)
		}
		for _, slope := range cotangent.Box {
			require.Zero(t, slope)
		}
	}
}

func TestClassificationAtTheInitialBias(t *testing.T) {
	s := scene{grid: canvas(t, 640, 640), classes: 80}
	s.output.Class = make([]float64, s.grid.Anchors()*s.classes)
	for i := range s.output.Class {
		s.output.Class[i] = -math.Log(99)
	}
	near(t, -4.59511985, -math.Log(99))
	near(t, 0.01, logistic(-math.Log(99)))
	none := newAssignment(make([][]Positive, 1))
	near(t, 6753.82569, Classification(BinaryCrossEntropy, s.output.Class, 80, 8400, none, 1, make([]float64, len(s.output.Class))))
}

func TestBinaryCrossEntropyStaysFinite(t *testing.T) {
	logits, slopes := []float64{-800, 800, 0, 800, -800}, make([]float64, 5)
	require.Equal(t, 1600+math.Ln2, BinaryCrossEntropy(logits, []float64{0, 1, 0, 0, 1}, slopes))
	require.Equal(t, []float64{0, 0, 0.5, 1, -1}, slopes)
}

// The logarithms of a row are taken together and must lose nothing by it,
// neither where they are tiny nor where their product would overflow.
func TestBinaryCrossEntropyEqualsItsDefinition(t *testing.T) {
	for _, at := range []float64{-60, -20, -4.6, 0, 0.3, 9} {
		const classes = 3000
		logits, targets, slopes := make([]float64, classes), make([]float64, classes), make([]float64, classes)
		want := 0.0
		for c := range logits {
			logits[c] = at + math.Sin(float64(c))
			want += math.Max(logits[c], 0) + math.Log1p(math.Exp(-math.Abs(logits[c])))
		}
		got := BinaryCrossEntropy(logits, targets, slopes)
		require.InEpsilon(t, want, got, 1e-12)
		for c, z := range logits {
			require.InEpsilon(t, 1/(1+math.Exp(-z)), slopes[c], 1e-14)
		}
	}
}

func TestDetectionDerivatives(t *testing.T) {
	s := randomScene(t, 9, canvas(t, 64, 64), 64, 2, 6, 3, false)
	assignment := s.assign(OneToManyAssigner())
	require.Greater(t, assignment.Count, 20)
	const weight = 0.7
	// The complete IoU holds its trade-off factor constant, so its differences
	// are taken apart from it, in TestCompleteIoUDerivatives.
	gains := Gains{Class: 0.5, L1: 6}
	_, cotangent := s.detect(assignment, gains, weight)
	total := func() float64 {
		terms, _ := s.detect(assignment, gains, weight)
		return weight * terms.Total(gains)
	}
	for _, pair := range [][2][]float64{{s.output.Class, cotangent.Class}, {s.output.Box, cotangent.Box}} {
		for i := 0; i < len(pair[0]); i += 3 {
			require.InDelta(t, slope(&pair[0][i], total), pair[1][i], 1e-7)
		}
	}

	_, cotangent = s.detect(assignment, Gains{Box: 7.5}, weight)
	for image, positives := range assignment.Images {
		for _, positive := range positives {
			at := (image*s.grid.Anchors() + positive.Anchor) * 4
			stride := s.grid.Stride[positive.Anchor]
			_, corners := CompleteIoULoss(DecodeBox(s.grid, positive.Anchor, s.output.Box[at:]), s.truth.Boxes[image*s.truth.Instances+positive.Object])
			for side, direction := range []float64{-1, -1, 1, 1} {
				want := weight * 7.5 * positive.Quality / assignment.Normaliser * corners[side] * direction * stride
				require.InDelta(t, want, cotangent.Box[at+side], 1e-12)
				cotangent.Box[at+side] = 0
			}
		}
	}
	for _, slope := range cotangent.Box {
		require.Zero(t, slope, "an anchor without an object has no box cotangent")
	}
}

func TestDetectionDoesNotDependOnTheNumberOfProcessors(t *testing.T) {
	s := randomScene(t, 6, canvas(t, 96, 96), 96, 5, 9, 3, false)
	assignment := s.assign(OneToManyAssigner())
	wantTerms, wantCotangent := s.detect(assignment, DefaultGains(), 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, processors := range []int{1, 3, 8} {
		runtime.GOMAXPROCS(processors)
		terms, cotangent := s.detect(assignment, DefaultGains(), 1)
		require.Equal(t, wantTerms, terms)
		require.Equal(t, wantCotangent, cotangent)
	}
}

func TestCompleteIoUWorkedNumbers(t *testing.T) {
	for _, c := range []struct {
		predicted, target                             geometry.Box
		overlap, distance, aspect, tradeoff, complete float64
		wantLoss                                      float64
		slopes                                        []float64
	}{
		{xyxy(10, 10, 50, 40), xyxy(20, 15, 60, 55), 0.365853659, 0.044198895, 0.00816031658, 0.012704703, 0.321551089, 0.678448911,
			[]float64{-0.00660466471, -0.00844607848, -0.0134952056, -0.0150828193}},
		{xyxy(0, 0, 10, 10), xyxy(20, 20, 40, 30), 0, 0.41, 0.0419564615, 0.0402669968, -0.411689461, 1.41168946,
			[]float64{0.00364508401, 0.00131491599, -0.010525084, -0.00747491599}},
		{xyxy(5, 5, 5, 5), xyxy(0, 0, 10, 20), 0, 0.05, 0.0871236968, 0.0801414678, -0.0569822209, 1.05698222, nil},
		{xyxy(50, 10, 10, 40), xyxy(20, 15, 60, 55), 0, 200.0 / 3625, 0.25, 0.25 / (1.25 + 1e-7), 1 - 1.10517241, 1.10517241,
			[]float64{-0.00275862069, -0.00138882283, -0.00275862069, -0.00275862069}},
	} {
		parts := newCompleteIoU(c.predicted, c.target)
		nearAll(t, []float64{c.overlap, c.distance, c.aspect, c.tradeoff},
			[]float64{parts.overlap, parts.distance, parts.aspect, parts.tradeoff})
		loss, slopes := CompleteIoULoss(c.predicted, c.target)
		near(t, c.wantLoss, loss)
		require.InDelta(t, c.complete, 1-loss, 1e-8)
		require.True(t, finite(slopes[:]...))
		if c.slopes != nil {
			nearAll(t, c.slopes, slopes[:])
		}
	}
}

func TestCompleteIoUDerivatives(t *testing.T) {
	for _, target := range []geometry.Box{xyxy(20, 15, 60, 55), xyxy(3, 4, 9, 40)} {
		for _, p := range [][4]float64{
			{10, 10, 50, 40}, {0, 0, 10, 10}, {25, 20, 50, 50}, {10, 5, 70, 65}, {50, 10, 10, 40}, {50, 40, 10, 10}, {21, 3, 22, 70},
		} {
			at := xyxy(p[0], p[1], p[2], p[3])
			tradeoff := newCompleteIoU(at, target).tradeoff
			_, slopes := CompleteIoULoss(at, target)
			for i := range p {
				want := slope(&p[i], func() float64 {
					parts := newCompleteIoU(xyxy(p[0], p[1], p[2], p[3]), target)
					return -parts.overlap + parts.distance + tradeoff*parts.aspect
				})
				require.InDelta(t, want, slopes[i], 1e-8, "%v against %v, corner %d", p, target, i)
			}
		}
	}
}

// Section 5: on a tie each corner gets half of the derivative of the
// intersection, which then cancels that of the area.
func TestCompleteIoUOfEqualBoxesIsStationary(t *testing.T) {
	box := xyxy(20, 15, 60, 55)
	loss, slopes := CompleteIoULoss(box, box)
	require.InDelta(t, 0, loss, 1e-9)
	require.InDeltaSlice(t, []float64{0, 0, 0, 0}, slopes[:], 1e-9)
}

// Field case YO-09.
func TestCompleteIoUOfAnEmptyPrediction(t *testing.T) {
	loss, slopes := CompleteIoULoss(xyxy(.5, .5, .5, .5), xyxy(.45, .45, .55, .55))
	require.InDelta(t, 1.05, loss, 1e-6)
	require.True(t, finite(slopes[:]...))
}

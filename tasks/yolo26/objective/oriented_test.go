package objective

import (
	"math"
	"testing"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/stretchr/testify/require"
)

func TestAspectWeight(t *testing.T) {
	for aspect, want := range map[float64]float64{
		1: 1, 1.5: 0.981898944, 2: 0.948016219, 3: 0.874497853, 5: 0.749904028, 10: 0.55482652, 20: 0.368926857,
	} {
		near(t, want, aspectWeight(rbox(0, 0, 7*aspect, 7, 0.3)))
	}
	require.True(t, aspectWeight(rbox(0, 0, 8, 0, 0)) > 0, "a side of 0 is floored")
}

func TestAngleResidual(t *testing.T) {
	for _, c := range []struct{ difference, wrapped, folded, square float64 }{
		{2, -1.14159265, 0.429203673, 0.572750017},
		{-2, 1.14159265, -0.429203673, 0.572750017},
		{3.3, 0.158407346, 0.158407346, 0.0970580212},
	} {
		wrapped, folded := angleResidual(c.difference)
		near(t, c.wrapped, wrapped)
		near(t, c.folded, folded)
		near(t, c.square, math.Pow(math.Sin(2*folded), 2))
	}
	for _, difference := range []float64{math.Pi / 2, 3 * math.Pi / 2} {
		wrapped, folded := angleResidual(difference)
		require.Equal(t, -math.Pi/2, wrapped)
		require.Zero(t, folded)
	}
	for difference := -20.0; difference < 20; difference += 0.01 {
		wrapped, folded := angleResidual(difference)
		require.True(t, wrapped >= -math.Pi/2-1e-12 && wrapped < math.Pi/2+1e-12, difference)
		require.True(t, folded >= -math.Pi/4 && folded < math.Pi/4+1e-12, difference)
	}
}

func TestAngleTermWorkedNumbers(t *testing.T) {
	const normaliser = 1.6
	var rows []OrientedRow
	for _, c := range [][5]float64{{0.35, 0.10, 30, 28, 0.8}, {2.60, 0.20, 50, 10, 0.5}, {-0.9, 0.9, 12, 12, 0.3}} {
		rows = append(rows, OrientedRow{RawAngle: c[0], Target: rbox(0, 0, c[2], c[3], c[1]), Weight: c[4] / normaliser})
	}
	for i, want := range []float64{0.183781851, 0.372081354, 0.0587473028} {
		value, _ := AngleTerm(rows[i : i+1])
		near(t, want, value*normaliser)
	}
	value, gradient := AngleTerm(rows)
	near(t, 0.384131568, value)
	for i, want := range []float64{0.841026056, -0.0817052221, -0.297625449} {
		near(t, want, gradient[i][4])
		require.Equal(t, [4]float64{}, [4]float64(gradient[i][:4]))
	}
}

// onePositive is the full single-positive example of section 2.6.
func onePositive() (grid *Grid, box, angle []float64, truth *GroundTruth, assignment *Assignment) {
	grid = NewGrid(Level{Rows: 5, Columns: 6, Stride: 8})
	const anchor = 29
	box, angle = make([]float64, 4*grid.Anchors()), make([]float64, grid.Anchors())
	copy(box[4*anchor:], []float64{2.2, 0.7, 1.9, 0.8})
	angle[anchor] = 0.35
	truth = &GroundTruth{
		Images: 1, Instances: 1, Labels: []int{0}, Boxes: make([]geometry.Box, 1), Mask: []bool{true},
		Rotated: []geometry.RotatedBox{rbox(43, 37, 36, 10, 0.2)},
	}
	return grid, box, angle, truth, newAssignment([][]Positive{{{Anchor: anchor, Quality: 0.6}}})
}

func TestSinglePositiveWorkedNumbers(t *testing.T) {
	grid, box, angle, truth, assignment := onePositive()
	rows := OrientedRows(grid, box, angle, truth, assignment)
	require.Len(t, rows, 1)
	nearAll(t, []float64{42.8, 36.4, 32.8, 12, 0.35}, fields(rows[0].Predicted))
	distance, _ := HellingerDistance(rows[0].Predicted, rows[0].Target)
	near(t, 0.185166308, distance)
	near(t, 0.814833692, 1-distance)
	near(t, 0.833342824, aspectWeight(rows[0].Target))
	near(t, 0.0873321925, math.Pow(math.Sin(2*(0.35-0.2)), 2))

	overlap, _ := HellingerTerm(rows)
	near(t, 0.111099785, overlap)
	distances, _ := RotatedL1Term(rows)
	near(t, 0.75, distances/0.6)
	near(t, 0.45, distances)
	turn, _ := AngleTerm(rows)
	near(t, 0.0436665936, turn)
	near(t, 3.54416504, 7.5*overlap+6*distances+0.25*turn)
}

// terms is every oriented term by name.
var terms = map[string]OrientedTerm{
	"hellinger": HellingerTerm, "bhattacharyya": BhattacharyyaTerm, "rotated l1": RotatedL1Term, "angle": AngleTerm,
}

func TestOrientedTermDerivatives(t *testing.T) {
	s := randomScene(t, 11, canvas(t, 64, 64), 64, 2, 6, 3, true)
	assignment := s.assign(OneToManyAssigner())
	angle := make([]float64, 2*s.grid.Anchors())
	for i := range angle {
		angle[i] = math.Sin(float64(i)) * 5
	}
	rows := OrientedRows(s.grid, s.output.Box, angle, s.truth, assignment)
	swapped := 0
	for _, row := range rows {
		if row.swapped {
			swapped++
		}
	}
	require.True(t, swapped > 3 && swapped < len(rows)-3, "both routes of canonicalisation are taken")
	for name, term := range terms {
		t.Run(name, func(t *testing.T) {
			_, gradient := term(rows)
			boxSlope, angleSlope := make([]float64, len(s.output.Box)), make([]float64, len(angle))
			AddOrientedCotangents(rows, gradient, boxSlope, angleSlope)
			value := func() float64 {
				value, _ := term(OrientedRows(s.grid, s.output.Box, angle, s.truth, assignment))
				return value
			}
			for _, row := range rows {
				for side := range 4 {
					i := row.flat*4 + side
					require.InDelta(t, slope(&s.output.Box[i], value), boxSlope[i], 1e-7)
					boxSlope[i] = 0
				}
				require.InDelta(t, slope(&angle[row.flat], value), angleSlope[row.flat], 1e-7)
				angleSlope[row.flat] = 0
			}
			for _, rest := range append(boxSlope, angleSlope...) {
				require.Zero(t, rest, "an anchor without an object has no oriented cotangent")
			}
		})
	}
}

// An empty support is a derivative of zero, not an absent one.
func TestOrientedTermsWithoutPositives(t *testing.T) {
	for name, term := range terms {
		value, gradient := term(nil)
		require.Zero(t, value, name)
		require.NotNil(t, gradient, name)
		require.Empty(t, gradient, name)
	}
}

// Field case YO-15.
func TestBoxesBelowTheStrideStayFinite(t *testing.T) {
	grid, box, angle, truth, assignment := onePositive()
	truth.Rotated[0] = rbox(44, 36, 1, 1, 0.3)
	for _, raw := range [][4]float64{{0, 0, 0, 0}, {0.0625, 0.0625, 0.0625, 0.0625}, {-4, -4, -4, -4}, {5, 5, 5, 5}} {
		copy(box[4*29:], raw[:])
		rows := OrientedRows(grid, box, angle, truth, assignment)
		for name, term := range terms {
			value, gradient := term(rows)
			require.True(t, finite(value) && finite(gradient[0][:]...), "%s of %v", name, raw)
		}
	}
}

// Field case YO-14: the raw angle is not bounded, and any turn of it by pi is
// the same prediction.
func TestRawAnglesOfAnySizeAreFinite(t *testing.T) {
	grid, box, angle, truth, assignment := onePositive()
	for _, raw := range []float64{-20, 20, 0.35, 0.35 + math.Pi, 0.35 - 7*math.Pi} {
		angle[29] = raw
		rows := OrientedRows(grid, box, angle, truth, assignment)
		for name, term := range terms {
			value, gradient := term(rows)
			require.True(t, finite(value) && finite(gradient[0][:]...), "%s at %v", name, raw)
			if math.Abs(raw) != 20 {
				angle[29] = 0.35
				want, _ := term(OrientedRows(grid, box, angle, truth, assignment))
				require.InDelta(t, want, value, 1e-12, name)
			}
		}
	}
}

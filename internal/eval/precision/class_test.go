package precision

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/geometry"
)

func TestClassPrecision(t *testing.T) {
	box := geometry.Box{X2: 40, Y2: 40}
	far := geometry.Box{X1: 100, Y1: 100, X2: 140, Y2: 140}
	coco, err := NewCOCO(3, 100)
	require.NoError(t, err)
	// Class 0: one of two objects found exactly; class 1: found with an overlap
	// of 0.6, which only the thresholds 0.50, 0.55 and 0.60 take; class 2: none.
	require.NoError(t, coco.AddBoxes(
		[]decode.Detection{{Pick: decode.Pick{Class: 0, Score: 0.9}, Box: box}, {Pick: decode.Pick{Class: 1, Score: 0.8}, Box: geometry.Box{X2: 24.4, Y2: 40}}},
		[]BoxObject{{Object{Class: 0, Area: 1600}, box}, {Object{Class: 0, Area: 1600}, far}, {Object{Class: 1, Area: 1600}, box}}))
	for class, want := range [][3]float64{{51.0 / 101, 51.0 / 101, 2}, {0.3, 1, 1}, {-1, -1, 0}} {
		average, half, objects, err := coco.ClassPrecision(class)
		require.NoError(t, err)
		require.InDeltaSlice(t, want[:], []float64{average, half, float64(objects)}, 1e-12, "class %d", class)
	}
	require.InDelta(t, (51.0/101+0.3)/2, coco.Precision(AllAreas), 1e-12, "the mean of the classes")
	_, _, _, err = coco.ClassPrecision(3)
	require.ErrorContains(t, err, "curve of class 3")

	oriented, err := NewOriented(2, 300)
	require.NoError(t, err)
	rotated := geometry.RotatedBox{CenterX: 20, CenterY: 20, Width: 20, Height: 10, Angle: 0.3}
	require.NoError(t, oriented.Add([]decode.Rotated{{Pick: decode.Pick{Class: 1, Score: 0.5}, Box: rotated}},
		[]RotatedObject{{Class: 1, Box: rotated}, {Class: 0, Box: rotated, Difficult: true}}))
	average, half, objects, err := oriented.ClassPrecision(1)
	require.NoError(t, err)
	require.Equal(t, []float64{1, 1, 1}, []float64{average, half, float64(objects)})
	_, half, objects, err = oriented.ClassPrecision(0)
	require.NoError(t, err)
	require.Equal(t, []float64{-1, 0}, []float64{half, float64(objects)}, "difficult objects do not count")
}

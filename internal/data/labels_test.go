package data

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/fuzz/allocation"
	"github.com/reprise-ml/reprise/internal/geometry"
)

func TestParseLabelsWorkedNumbers(t *testing.T) {
	labels, faults := ParseLabels("a.txt", []byte("1 0.5 0.5 0.5 0.25\n"), BoxRows, 2, 100, 40)
	require.Empty(t, faults)
	require.Equal(t, Target{Labels: []int{1}, Boxes: []geometry.Box{{X1: 25, Y1: 15, X2: 75, Y2: 25}}}, labels.Target)

	labels, faults = ParseLabels("a.txt", []byte("0 0.1 0.1 0.5 0.1 0.5 0.3 0.1 0.3\n"), OrientedRows, 2, 10, 10)
	require.Empty(t, faults)
	require.Equal(t, []geometry.Box{{X1: 1, Y1: 1, X2: 5, Y2: 3}}, labels.Target.Boxes)
	rotated := labels.Target.Rotated[0]
	require.InDeltaSlice(t, []float64{3, 2, 4, 2, 0},
		[]float64{rotated.CenterX, rotated.CenterY, rotated.Width, rotated.Height, rotated.Angle}, 1e-12)
}

func TestParseLabelsAccepts(t *testing.T) {
	cases := []struct {
		name, text string
		format     RowFormat
		count      int
	}{
		{"empty", "", BoxRows, 0},
		{"blank lines and carriage returns", "\r\n0 .5 .5 .1 .1\r\n\r\n \n1\t.5 .5 .1 .1", BoxRows, 2},
		{"byte order mark", "\xef\xbb\xbf0 .5 .5 .1 .1\n", BoxRows, 1},
		{"class printed as a float", "1.000000e+00 .5 .5 .1 .1\n", BoxRows, 1},
		{"rounding at the border", "0 1.0009 -0.0009 .1 .1\n", BoxRows, 1},
		{"zero size", "0 .5 .5 0 0\n", BoxRows, 1},
		{"corners outside the image", "0 0.33789 0.984377 0.1875 1.05664 -0.072 0.89844 0.267575 0.828125\n", OrientedRows, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			labels, faults := ParseLabels("a.txt", []byte(c.text), c.format, 2, 100, 100)
			require.Empty(t, faults)
			require.Equal(t, c.count, labels.Target.Len())
			require.NoError(t, labels.Target.Validate())
		})
	}
}

func TestBoxesAreClampedAndOrientedBoxesAreNot(t *testing.T) {
	labels, faults := ParseLabels("a.txt", []byte("0 0.1 0.95 0.4 0.2\n"), BoxRows, 1, 100, 200)
	require.Empty(t, faults)
	require.InDeltaSlice(t, []float64{0, 170, 30, 200}, boxValues(labels.Target.Boxes[0]), 1e-9)

	labels, faults = ParseLabels("a.txt", []byte("0 -0.1 0.9 0.3 0.9 0.3 1.1 -0.1 1.1\n"), OrientedRows, 1, 100, 200)
	require.Empty(t, faults)
	require.InDeltaSlice(t, []float64{-10, 180, 30, 220}, boxValues(labels.Target.Boxes[0]), 1e-9)
	require.InDelta(t, 10, labels.Target.Rotated[0].CenterX, 1e-9)
	require.InDelta(t, 200, labels.Target.Rotated[0].CenterY, 1e-9)
}

func boxValues(b geometry.Box) []float64 { return []float64{b.X1, b.Y1, b.X2, b.Y2} }

// Field cases YO-08 (class outside the names), YO-10 (duplicates and coordinates
// out of range) and YO-20 (wrong number of columns).
func TestParseLabelsFaults(t *testing.T) {
	const good = "0 .5 .5 .1 .1\n"
	cases := []struct {
		name, text string
		format     RowFormat
		want       string
	}{
		{"class too large", good + "3 .5 .5 .1 .1\n", BoxRows,
			"a.txt:2: class 3 is outside 0..2; correct the row, or add the class to names in data.yaml"},
		{"negative class", good + good + "-1 .5 .5 .1 .1\n", BoxRows, "a.txt:3: class -1 is outside 0..2; "},
		{"class not whole", "0.5 .5 .5 .1 .1\n", BoxRows, "a.txt:1: class 0.5 is outside 0..2; "},
		{"coordinate too large", "0 1.0371 .5 .1 .1\n", BoxRows, "a.txt:1: coordinate 1.0371 is outside 0..1; "},
		{"coordinate negative", "0 .5 -0.042141 .1 .1\n", BoxRows, "a.txt:1: coordinate -0.042141 is outside 0..1; "},
		{"oriented row read as boxes", "0 .1 .1 .5 .1 .5 .3 .1 .3\n", BoxRows,
			"a.txt:1: 9 fields where the declared format is box; write class cx cy w h, or declare"},
		{"box row read as oriented", good, OrientedRows,
			"a.txt:1: 5 fields where the declared format is oriented; write class x1 y1 x2 y2 x3 y3 x4 y4, or declare"},
		{"one column short", "0 .5 .5 .1\n", BoxRows, "a.txt:1: 4 fields"},
		{"one column more", "0 .5 .5 .1 .1 .9\n", BoxRows, "a.txt:1: 6 fields"},
		{"not a number", "0 .5 x .1 .1\n", BoxRows, `a.txt:1: field 3 is "x", not a finite number; `},
		{"infinite", "0 .5 .5 inf .1\n", BoxRows, `a.txt:1: field 4 is "inf", not a finite number; `},
		{"NaN class", "nan .5 .5 .1 .1\n", BoxRows, `a.txt:1: field 1 is "nan", not a finite number; `},
		{"pixels as corners", "0 100 100 500 100 500 300 100 300\n", OrientedRows,
			"a.txt:1: corner coordinate 100 is more than one image away from 0..1; "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, faults := ParseLabels("a.txt", []byte(c.text), c.format, 3, 100, 100)
			require.Len(t, faults, 1)
			require.Contains(t, faults[0].String(), c.want)
		})
	}
}

// Field case YO-10.
func TestDuplicateRowsAreDroppedAndCounted(t *testing.T) {
	text := "0 .5 .5 .1 .1\n1 .5 .5 .1 .1\n0 0.50 0.5 1e-1 .1\n0 .5 .5 .1 .1001\n"
	labels, faults := ParseLabels("a.txt", []byte(text), BoxRows, 2, 100, 100)
	require.Empty(t, faults)
	require.Equal(t, 1, labels.Duplicates)
	require.Equal(t, []int{0, 1, 0}, labels.Target.Labels)
}

func TestFaultsErrorShowsTenAndCountsTheRest(t *testing.T) {
	text := ""
	for range 13 {
		text += "7 .5 .5 .1 .1\n"
	}
	_, faults := ParseLabels("a.txt", []byte(text), BoxRows, 3, 100, 100)
	require.Len(t, faults, 13)
	message := faultsOrNil(faults).Error()
	require.Contains(t, message, "a.txt:10: ")
	require.NotContains(t, message, "a.txt:11: ")
	require.Contains(t, message, "\nand 3 more faults")
	require.NoError(t, faultsOrNil(nil))
}

func FuzzParseLabels(f *testing.F) {
	formats := []RowFormat{BoxRows, OrientedRows, PolygonRows, KeypointRows(KeypointShape{2, 3}), KeypointRows(KeypointShape{2, 2})}
	f.Add("0 .5 .5 .1 .1\n1 0 0 1 1\n", uint8(0))
	f.Add("0 .1 .1 .5 .1 .5 .3 .1 .3\n", uint8(1))
	f.Add("0 .1 .1 .5 .1 .5 .3\n2 .1 .1 .5 .1 .5 .3 .1 .3 .2 .2\n", uint8(2))
	f.Add("0 .5 .5 .1 .1 .5 .5 2 .6 .4 0\n", uint8(3))
	f.Add("0 .5 .5 .1 .1 .5 .5 .6 .4\n", uint8(4))
	f.Add("-1 nan inf 1e400 0x1p-2\n\x00", uint8(0))
	f.Fuzz(func(t *testing.T, text string, format uint8) {
		var labels Labels
		allocation.AtMost(t, allocation.PerByte, len(text), func() {
			labels, _ = ParseLabels("a.txt", []byte(text), formats[int(format)%len(formats)], 3, 64, 48)
		})
		require.NoError(t, labels.Target.Validate())
		for _, label := range labels.Target.Labels {
			require.Less(t, label, 3)
		}
	})
}

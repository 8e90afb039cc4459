package chart

import (
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"
)

func readPNG(t *testing.T, file string) image.Image {
	t.Helper()
	opened, err := os.Open(file)
	require.NoError(t, err)
	defer opened.Close()
	decoded, err := png.Decode(opened)
	require.NoError(t, err)
	return decoded
}

// count counts the pixels of a part of a picture that are close to a colour.
func count(m image.Image, area image.Rectangle, want color.Color) int {
	r, g, b, _ := want.RGBA()
	near := func(a, b uint32) bool { return math.Abs(float64(a)-float64(b)) < 0x1000 }
	found := 0
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if r2, g2, b2, _ := m.At(x, y).RGBA(); near(r, r2) && near(g, g2) && near(b, b2) {
				found++
			}
		}
	}
	return found
}

// Every curve is drawn, its name stands right of the figure, and points that are
// not finite are left out.
func TestLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lines.png")
	lines := []Line{
		{"rising", plotter.XYs{{X: 1, Y: 0}, {X: 2, Y: math.NaN()}, {X: 3, Y: 1}}},
		{"level", plotter.XYs{{X: 1, Y: 0.25}, {X: 3, Y: 0.25}, {X: math.Inf(1), Y: 5}}},
		{"none", nil},
	}
	axis := Axis{Label: "epoch", Whole: true}
	require.NoError(t, Lines(file, "title", axis, Axis{Max: 1}, lines))
	picture := readPNG(t, file)
	plotArea := picture.Bounds()
	plotArea.Max.X = 840 // 7 inches
	for i := range 2 {
		require.Greater(t, count(picture, plotArea, lineColor(i, 3)), 500, lines[i].Name)
		beside := image.Rect(840, 0, picture.Bounds().Max.X, picture.Bounds().Max.Y)
		require.Greater(t, count(picture, beside, lineColor(i, 3)), 20, "in the legend")
	}
	require.Zero(t, count(picture, picture.Bounds(), lineColor(2, 3)))

	many := make([]Line, mostNames+1)
	for i := range many {
		many[i] = Line{"class", plotter.XYs{{X: 0, Y: float64(i)}, {X: 1, Y: float64(i)}}}
	}
	require.NoError(t, Lines(file, "many", Axis{}, Axis{}, many))
	require.Equal(t, 840, readPNG(t, file).Bounds().Dx(), "without a legend")
	require.NoError(t, Lines(file, "nothing", Axis{}, Axis{}, nil))
	require.ErrorContains(t, Lines(filepath.Join(file, "x.png"), "", Axis{}, Axis{}, lines), "give a directory that can be written")
}

func TestTicks(t *testing.T) {
	cases := []struct {
		low, high float64
		whole     bool
		want      []string
	}{
		{0, 1, false, []string{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}},
		{1, 40, true, []string{"5", "10", "15", "20", "25", "30", "35", "40"}},
		{1, 3, true, []string{"1", "2", "3"}},
		{1, 1.5, true, []string{"1"}},
		{-0.02, 0.021, false, []string{"-0.02", "-0.01", "0.00", "0.01", "0.02"}},
		{380, 2330, false, []string{"500", "1000", "1500", "2000"}},
	}
	for _, c := range cases {
		var got []string
		for _, tick := range (ticks{c.whole}).Ticks(c.low, c.high) {
			got = append(got, tick.Label)
		}
		require.Equal(t, c.want, got)
	}
}

// Of eighty classes a table shows those that were there or were found.
func TestCounts(t *testing.T) {
	names := []string{"cat", "dog", "cow", "background"}
	counts := [][]int{{3, 0, 0, 1}, {0, 0, 0, 0}, {0, 0, 5, 0}, {1, 0, 0, 0}}
	kept, left := occupied(names, counts)
	require.Equal(t, []string{"cat", "cow", "background"}, kept)
	require.Equal(t, [][]int{{3, 0, 1}, {0, 5, 0}, {1, 0, 0}}, left)
	require.Equal(t, 0.75, newShares(left).Z(0, 0))

	file := filepath.Join(t.TempDir(), "counts.png")
	require.NoError(t, Counts(file, "title", "annotated", "detected", names, counts))
	picture := readPNG(t, file)
	require.Equal(t, 590, picture.Bounds().Dx(), "4 inches and 22 points for each of three names")
	full := blues{}.Colors()[63]
	require.Greater(t, count(picture, picture.Bounds(), full), 5000, "the cell of the cows")
	require.NoError(t, Counts(file, "title", "annotated", "detected", names[3:], [][]int{{0}}), "nothing at all")
}

package picture

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// plain is a picture of one colour.
func plain(width, height int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(m, m.Rect, image.NewUniform(color.RGBA{R: 100, G: 110, B: 120, A: 255}), image.Point{}, draw.Src)
	return m
}

func annotate(t *testing.T, base image.Image, annotations ...Annotation) *image.RGBA {
	t.Helper()
	drawn, err := Annotate(base, annotations)
	require.NoError(t, err)
	return drawn
}

func TestOutlineIsOnTheEdges(t *testing.T) {
	box := geometry.RotatedBox{CenterX: 100, CenterY: 80, Width: 90, Height: 40, Angle: 0.6}
	base := plain(200, 160)
	drawn := annotate(t, base, FromRotated(box, 2, ""))
	paint := classColor(2)
	corners := box.Corners()
	for i, from := range corners {
		to := corners[(i+1)%4]
		middle := drawn.RGBAAt(int((from.X+to.X)/2), int((from.Y+to.Y)/2))
		for _, pair := range [3][2]uint8{{paint.R, middle.R}, {paint.G, middle.G}, {paint.B, middle.B}} {
			require.InDelta(t, pair[0], pair[1], 90, "edge %d", i)
		}
	}
	require.Equal(t, base.RGBAAt(10, 10), drawn.RGBAAt(10, 10), "the rest of the picture stays")
	require.NotEqual(t, base.RGBAAt(100, 80), drawn.RGBAAt(100, 80), "the inside is tinted")
	require.Equal(t, plain(200, 160), base, "the argument stays")
}

func TestStrokeOverlapsAddUp(t *testing.T) {
	for _, outline := range [][]geometry.Point{
		{{X: 10, Y: 10}, {X: 40, Y: 10}, {X: 40, Y: 40}, {X: 10, Y: 40}},
		{{X: 10, Y: 40}, {X: 40, Y: 40}, {X: 40, Y: 10}, {X: 10, Y: 10}},
	} {
		for _, path := range strokePaths(outline, 6) {
			require.Positive(t, geometry.PolygonArea(path))
		}
		canvas := plain(50, 50)
		fillPaths(canvas, strokePaths(outline, 6), color.White)
		require.Equal(t, color.RGBA{255, 255, 255, 255}, canvas.RGBAAt(11, 11), "where edges and disc overlap")
	}
}

func TestFirstAnnotationIsOnTop(t *testing.T) {
	box := geometry.Box{X1: 20, Y1: 20, X2: 80, Y2: 80}
	drawn := annotate(t, plain(100, 100), FromBox(box, 1, ""), FromBox(box, 5, ""))
	alone := annotate(t, plain(100, 100), FromBox(box, 1, ""))
	top, want, below := drawn.RGBAAt(50, 20), classColor(1), classColor(5)
	require.InDelta(t, alone.RGBAAt(50, 20).R, top.R, 12)
	require.InDelta(t, want.B, top.B, 60)
	require.Greater(t, math.Abs(float64(below.B)-float64(want.B)), 150.0)
}

func TestTagsStayInsideAndApart(t *testing.T) {
	canvas := image.Rect(0, 0, 200, 100)
	size := image.Point{X: 60, Y: 16}
	var outlines [][]geometry.Point
	var others occupied
	for _, center := range []geometry.Point{{X: 5, Y: 5}, {X: 195, Y: 95}, {X: 100, Y: 50}, {X: 102, Y: 60}, {X: -500, Y: 50}} {
		corners := geometry.RotatedBox{CenterX: center.X, CenterY: center.Y, Width: 20, Height: 8, Angle: 0.4}.Corners()
		outlines = append(outlines, corners[:])
		others.cores = append(others.cores, core(corners[:], style{textHeight: 4}))
	}
	require.Equal(t, image.Rect(96, 47, 105, 54), others.cores[2], "at most a line of text, at most half the object")
	for _, outline := range outlines {
		place, ok := freePlace(canvas, outline, size, &others)
		require.True(t, ok)
		require.True(t, place.In(canvas))
		require.Equal(t, size, place.Size())
		for _, tag := range others.tags {
			require.False(t, place.Overlaps(tag))
		}
		for _, core := range others.cores {
			require.False(t, core.Overlaps(place))
		}
		others.tags = append(others.tags, place)
	}
	_, ok := freePlace(canvas, outlines[2], size, &occupied{tags: []image.Rectangle{canvas}})
	require.False(t, ok, "a full picture has no place")
	require.Equal(t, image.Rect(0, 0, 300, 16), into(canvas, image.Rect(-50, -4, 250, 12)), "a long text shows its start")
}

func TestTextIsDrawnInReadableInk(t *testing.T) {
	box := geometry.Box{X1: 30, Y1: 40, X2: 120, Y2: 100}
	without := annotate(t, plain(160, 120), FromBox(box, 0, ""))
	with := annotate(t, plain(160, 120), FromBox(box, 0, Label("plane", 0.934)))
	ink, plate := 0, 0
	for y := range 120 {
		for x := range 160 {
			if with.RGBAAt(x, y) == without.RGBAAt(x, y) {
				continue
			}
			switch with.RGBAAt(x, y) {
			case inkOn(classColor(0)):
				ink++
			case classColor(0):
				plate++
			}
		}
	}
	require.Greater(t, ink, 20)
	require.Greater(t, plate, 200)
	require.Equal(t, "plane 0.93", Label("plane", 0.934))
	require.Equal(t, color.RGBA{12, 12, 12, 255}, inkOn(color.RGBA{255, 255, 0, 255}))
	require.Equal(t, color.RGBA{255, 255, 255, 255}, inkOn(color.RGBA{0, 0, 160, 255}))
}

func TestNeighbouringClassesDifferInColour(t *testing.T) {
	seen := map[color.RGBA]bool{}
	for class := range 20 {
		seen[classColor(class)] = true
		a, b := classColor(class), classColor(class+1)
		distance := math.Abs(float64(a.R)-float64(b.R)) + math.Abs(float64(a.G)-float64(b.G)) + math.Abs(float64(a.B)-float64(b.B))
		require.Greater(t, distance, 150.0)
	}
	require.Len(t, seen, 20)
}

func TestUnusableOutlinesAreLeftOut(t *testing.T) {
	base := plain(64, 64)
	nan, inf := math.NaN(), math.Inf(1)
	drawn := annotate(t, base,
		FromBox(geometry.Box{X1: nan, Y1: 0, X2: 10, Y2: 10}, 0, "a"),
		FromBox(geometry.Box{X1: 0, Y1: -inf, X2: 10, Y2: inf}, 0, "b"),
		FromRotated(geometry.RotatedBox{CenterX: 5, CenterY: 5, Width: inf, Height: 2, Angle: 1}, 0, "c"),
		Annotation{Text: "d"})
	require.Equal(t, base, drawn)
	// Far outside, but finite: nothing to see and nothing breaks.
	far := annotate(t, base, FromBox(geometry.Box{X1: 1e30, Y1: -1e30, X2: 1e300, Y2: 2}, 0, ""))
	require.Equal(t, base, far)
	annotate(t, base, FromBox(geometry.Box{X1: -1e300, Y1: -1e300, X2: 1e300, Y2: 1e300}, 0, "x"), FromBox(geometry.Box{}, 0, ""))
}

func TestAnnotateMovesTheImageToTheOrigin(t *testing.T) {
	part := plain(100, 100).SubImage(image.Rect(20, 30, 60, 90))
	require.Equal(t, image.Rect(0, 0, 40, 60), annotate(t, part).Rect)
}

func TestWritePNG(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.png")
	require.NoError(t, WritePNG(file, plain(5, 4)))
	opened, err := os.Open(file)
	require.NoError(t, err)
	defer opened.Close()
	read, err := png.Decode(opened)
	require.NoError(t, err)
	require.Equal(t, color.RGBA{100, 110, 120, 255}, color.RGBAModel.Convert(read.At(4, 3)))

	require.ErrorContains(t, WritePNG(filepath.Join(file, "b.png"), plain(1, 1)), "picture cannot be written: ")
	require.ErrorContains(t, WritePNG(file, plain(0, 0)), "give an image that is not empty")
}

func TestSheet(t *testing.T) {
	tiles := []Tile{{plain(100, 50), "one"}, {plain(50, 100), "two"}, {plain(64, 64), "a caption that is far too long for its tile"}}
	sheet, err := Sheet(tiles, 2, 64)
	require.NoError(t, err)
	require.Greater(t, sheet.Rect.Dy(), 2*64)
	require.Less(t, sheet.Rect.Dx(), 3*64)
	at := func(column, x, y int) color.RGBA { return sheet.RGBAAt(4+column*68+x, 4+y) }
	require.Equal(t, color.RGBA{100, 110, 120, 255}, at(0, 32, 32))
	require.Equal(t, sheetGround, at(0, 32, 2), "a wide picture leaves a band above")
	require.Equal(t, sheetGround, at(1, 2, 32), "a tall picture leaves a band beside")

	narrow, err := Sheet(tiles[:1], 5, 64)
	require.NoError(t, err)
	require.Equal(t, 64+2*4, narrow.Rect.Dx(), "no empty columns")

	for _, bad := range []func() (*image.RGBA, error){
		func() (*image.RGBA, error) { return Sheet(nil, 2, 64) },
		func() (*image.RGBA, error) { return Sheet(tiles, 0, 64) },
		func() (*image.RGBA, error) { return Sheet(tiles, 2, 8) },
	} {
		_, err := bad()
		require.ErrorContains(t, err, "give at least 1 tile, 1 column and 32 pixels")
	}
}

func TestCutFitsTheWidth(t *testing.T) {
	face, err := newFace(12)
	require.NoError(t, err)
	defer face.Close()
	require.Equal(t, "short", cut(face, "short", 100))
	long := cut(face, "a caption that is far too long", 60)
	require.Contains(t, long, "…")
	require.Less(t, len(long), 14)
	require.Equal(t, "…", cut(face, "wide", 1))
}

// The outline of a small object stays visible inside the mask of a large one that
// comes after it or before it, and its mask lies on top.
func TestMasksLieBelowOutlines(t *testing.T) {
	square := func(low, high float64, class int) Annotation {
		annotation := FromBox(geometry.Box{X1: low, Y1: low, X2: high, Y2: high}, class, "")
		annotation.Ring = annotation.Outline
		return annotation
	}
	large, small := square(10, 190, 0), square(80, 120, 2)
	first, second := annotate(t, plain(200, 200), large, small), annotate(t, plain(200, 200), small, large)
	require.Equal(t, classColor(2), first.RGBAAt(100, 80), "the edge")
	for y := range 200 { // they cross nowhere, so their order does not show
		require.Equal(t, first.RGBAAt(100, y), second.RGBAAt(100, y))
	}
	paint, inside, around := classColor(2), first.RGBAAt(100, 100), first.RGBAAt(40, 100)
	require.Less(t, math.Abs(float64(inside.B)-float64(paint.B)), math.Abs(float64(around.B)-float64(paint.B)))
}

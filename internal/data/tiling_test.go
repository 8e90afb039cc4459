package data

import (
	"image"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// The worked numbers of the data and evaluation specification, section 3.
func TestTilingStarts(t *testing.T) {
	for length, want := range map[int][]int{
		900: {0}, 1024: {0}, 1025: {0, 1}, 2000: {0, 824, 976}, 4000: {0, 824, 1648, 2472, 2976}, 1848: {0, 824},
	} {
		require.Equal(t, want, DefaultTiling.starts(length), length)
	}
	require.Equal(t, []int{0, 512, 976}, Tiling{Patch: 1024, Overlap: 512}.starts(2000))
	require.Equal(t, []image.Rectangle{image.Rect(0, 0, 1024, 700), image.Rect(1, 0, 1025, 700)}, DefaultTiling.Windows(1025, 700))
	for _, bad := range []Tiling{{}, {Patch: 10, Overlap: 10}, {Patch: 10, Overlap: -1}} {
		require.ErrorContains(t, bad.Validate(), "tiling: patch")
	}
	require.NoError(t, DefaultTiling.Validate())
}

func TestTilesCoverEveryPixel(t *testing.T) {
	tiling := Tiling{Patch: 10, Overlap: 3}
	for length := 1; length < 60; length++ {
		covered := 0
		for _, start := range tiling.starts(length) {
			require.LessOrEqual(t, start, covered)
			covered = min(start+10, length)
		}
		require.Equal(t, length, covered)
	}
}

func TestTileTargetWorkedNumbers(t *testing.T) {
	whole := geometry.RotatedBox{CenterX: 1000, CenterY: 500, Width: 120, Height: 40, Angle: 0.4}
	cut, gone := whole, whole
	cut.CenterX, gone.CenterX = 1040, 1400
	target := Target{Labels: []int{1, 2, 3}, Rotated: []geometry.RotatedBox{whole, cut, gone},
		Boxes: []geometry.Box{whole.Envelope(), cut.Envelope(), gone.Envelope()}}
	tile, visible := TileTarget(target, image.Rect(0, 0, 1024, 1024))
	require.InDeltaSlice(t, []float64{0.717140886, 0.35523941}, visible, 5e-9)
	require.Equal(t, []int{1, 2}, tile.Labels)
	require.Equal(t, []bool{false, true}, tile.Difficult)
	require.Equal(t, whole, tile.Rotated[0])
	require.Equal(t, whole.Envelope(), tile.Boxes[0], "sticks out")
	got := tile.Rotated[1]
	require.InDeltaSlice(t, []float64{1008.26235, 486.581538, 51.0845935, 40, 0.4},
		[]float64{got.CenterX, got.CenterY, got.Width, got.Height, got.Angle}, 5e-6)
	require.InDeltaSlice(t, []float64{976.947974, 458.21368, 1024, 514.949397}, boxValues(tile.Boxes[1]), 5e-6)

	// Windows move coordinates; a difficult flag is never cleared.
	target.Difficult = []bool{true, true, false}
	tile, _ = TileTarget(target, image.Rect(900, 400, 1924, 1424))
	require.Equal(t, []bool{true, true, false}, tile.Difficult)
	require.InDelta(t, 100, tile.Rotated[0].CenterX, 1e-9)
	require.InDelta(t, 100, tile.Rotated[0].CenterY, 1e-9)
	require.NoError(t, tile.Validate())
}

func TestParseLabelTxt(t *testing.T) {
	text := "\xef\xbb\xbf'imagesource':GoogleEarth\r\ngsd:0.14\n\n" +
		"1 1 5 1 5 3 1 3 Large-Vehicle 1\n10 0 0 0 0 4 10 4 storage_tank 0\n"
	target, faults := ParseLabelTxt("P1.txt", []byte(text), DOTAClasses)
	require.Empty(t, faults)
	require.Equal(t, []int{9, 2}, target.Labels)
	require.Equal(t, []bool{true, false}, target.Difficult)
	require.Equal(t, geometry.RotatedBox{CenterX: 3, CenterY: 2, Width: 4, Height: 2}, target.Rotated[0])
	require.Equal(t, geometry.Box{X1: 1, Y1: 1, X2: 5, Y2: 3}, target.Boxes[0])
	require.NoError(t, target.Validate())
	require.Len(t, DOTAClasses, 15)

	for row, want := range map[string]string{
		"1 1 5 1 5 3 1 3 plane":        "P1.txt:2: 9 fields where an object has 10; write x1 y1",
		"1 1 5 1 5 3 1 x plane 0":      `P1.txt:2: field 8 is "x", not a finite number; `,
		"1 1 5 1 5 3 1 3 zeppelin 0":   `P1.txt:2: category "zeppelin" is not one of the classes; `,
		"1 1 5 1 5 3 1 3 plane 2":      `P1.txt:2: difficult is "2"; write 0 or 1`,
		"1 1 5 1 5 3 1 Inf plane 0":    `P1.txt:2: field 8 is "Inf"`,
		"1 1 5 1 5 3 1 3 plane 0 more": "P1.txt:2: 11 fields",
	} {
		_, faults := ParseLabelTxt("P1.txt", []byte("gsd:1\n"+row), DOTAClasses)
		require.Len(t, faults, 1)
		require.Contains(t, faults[0].String(), want)
	}
}

func TestDOTAFolder(t *testing.T) {
	for _, layout := range [][2]string{{"train/images", "train/labelTxt"}, {"images/train", "labelTxt/train"}} {
		root := t.TempDir()
		writeImage(t, root, layout[0]+"/P1.png", 40, 30, 1)
		writeImage(t, root, layout[0]+"/P2.png", 40, 30, 2)
		writeFile(t, root, layout[1]+"/P1.txt", "gsd:1\n1 1 5 1 5 3 1 3 ship 1\n")
		config, err := ReadConfig(root)
		require.NoError(t, err)
		require.True(t, config.Has("train"))
		require.False(t, config.Has("val"))
		require.Equal(t, "obb", config.SuggestTask())
		dataset, err := Open(t.Context(), config, "train", Options{Format: OrientedRows})
		require.NoError(t, err)
		require.Equal(t, []int{2, 1, 1}, []int{len(dataset.Items), dataset.Instances(), dataset.Backgrounds})
		_, err = Open(t.Context(), config, "train", Options{Format: BoxRows})
		require.ErrorContains(t, err, "labelTxt holds oriented boxes and the declared format is box; use the task obb")
		_, err = Open(t.Context(), config, "val", Options{Format: OrientedRows})
		require.ErrorContains(t, err, "no split val; ")
		writeFile(t, root, layout[1]+"/P2.txt", "1 1 5 1 5 3 1 3 boat 1\n")
		_, err = Open(t.Context(), config, "train", Options{Format: OrientedRows})
		require.ErrorContains(t, err, `P2.txt:1: category "boat" is not one of the classes; `)
	}
}

func TestSuggestTask(t *testing.T) {
	for want, rows := range map[string]string{
		"detect":  "0 .5 .5 .1 .1\n",
		"obb":     "0 .1 .1 .5 .1 .5 .3 .1 .3\n",
		"segment": "0 .1 .1 .5 .1 .5 .3 .1 .3\n0 .1 .1 .5 .1 .5 .3\n",
	} {
		directory := t.TempDir()
		writeImage(t, directory, "images/train/a.png", 10, 10, 1)
		writeFile(t, directory, "labels/train/a.txt", rows)
		config, err := ReadConfig(writeFile(t, directory, "data.yaml", "train: images/train\nnames: [a]\n"))
		require.NoError(t, err)
		require.Equal(t, want, config.SuggestTask())
	}
}

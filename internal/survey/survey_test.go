package survey

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/geometry"
)

func writeText(t *testing.T, directory, path, text string) string {
	t.Helper()
	file := filepath.Join(directory, filepath.FromSlash(path))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

func writePicture(t *testing.T, directory, path string, width, height int) {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = uint8(i * 7)
	}
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, color.RGBA{uint8(x), uint8(y), uint8(x + y), 255})
		}
	}
	var text bytes.Buffer
	require.NoError(t, png.Encode(&text, m))
	writeText(t, directory, path, text.String())
}

// faultyFolder holds one fault of every kind, two good images and a background.
func faultyFolder(t *testing.T) (file string, want []string) {
	t.Helper()
	root := t.TempDir()
	for name, rows := range map[string]string{
		"a": "0 .5 .5 .2 .2\n0 .5 .5 .2 .2\n1 .5 .5 1 1\n", "b": "",
		"c": "3 .5 .5 .1 .1\n-1 .5 .5 .1 .1\n0.5 .5 .5 .1 .1\n",
		"d": "0 1.0371 .5 .1 .1\n0 .5 -0.042141 .1 .1\n",
		"e": "0 .5 .5 .1\n0 .5 .5 .1 .1 .1\n0 .5 x .1 .1\n",
		"g": "0 .5 .5 .1 .1\n",
	} {
		writePicture(t, root, "images/train/"+name+".png", 100, 50)
		writeText(t, root, "labels/train/"+name+".txt", rows)
	}
	require.NoError(t, os.Truncate(filepath.Join(root, "images/train/g.png"), 100))
	writeText(t, root, "images/train/h.bmp", "BM")
	writePicture(t, root, "images/train/f.png", 40, 40)
	file = writeText(t, root, "data.yaml", "path:\ntrain: images/train\nval:\nnames: {0: ship, 1: plane}\ndownload:\n")
	return file, []string{
		"c.txt:1: class 3 is outside", "c.txt:2: class -1 is outside", "c.txt:3: class 0.5 is outside",
		"d.txt:1: coordinate 1.0371 is outside", "d.txt:2: coordinate -0.042141 is outside",
		"e.txt:1: 4 fields", "e.txt:2: 6 fields", `e.txt:3: field 3 is "x"`,
		"g.png: image ", `h.bmp: image format ".bmp" is not read; convert`,
	}
}

// Field cases YO-08, YO-10 and YO-20: every fault once, with file and line, and
// what is good is counted.
func TestCheckListsEveryFaultOnce(t *testing.T) {
	file, want := faultyFolder(t)
	report, err := Check(context.Background(), file, "")
	require.NoError(t, err)
	require.Equal(t, []any{"detect", true, len(want)}, []any{report.Task, report.Suggested, report.Faults})
	split := report.Splits[0]
	require.Equal(t, []any{"train", 3, 2, 2, 1}, []any{split.Name, split.Images, split.Instances, split.Backgrounds, split.Duplicates})
	require.Equal(t, []Count{{"ship", 1}, {"plane", 1}}, split.Classes)
	require.Equal(t, Count{"64 to 96", 1}, split.Sizes[4], "the square root of 100 x 50 is 70.7")
	require.Equal(t, Count{"8 to 16", 1}, split.Sizes[1])
	var text bytes.Buffer
	require.NoError(t, report.WriteText(&text))
	for _, fault := range want {
		require.Equal(t, 1, strings.Count(text.String(), fault), fault)
	}
	require.Contains(t, text.String(), "train: 3 images, 2 instances, 2 images without instances\n  1 repeated rows dropped\n")
	require.Contains(t, text.String(), "judged by the labels")
	require.True(t, strings.HasSuffix(text.String(), "\n10 faults\n"))

	var encoded bytes.Buffer
	require.NoError(t, report.WriteJSON(&encoded))
	var read Report
	require.NoError(t, json.Unmarshal(encoded.Bytes(), &read))
	require.Equal(t, *report, read)
}

func TestCheckOfAllFaulty(t *testing.T) {
	root := t.TempDir()
	writePicture(t, root, "images/train/a.png", 20, 20)
	writeText(t, root, "labels/train/a.txt", "7 .5 .5 .1 .1\n")
	file := writeText(t, root, "data.yaml", "train: images/train\nnames: [a]\n")
	report, err := Check(context.Background(), file, "detect")
	require.NoError(t, err)
	require.Equal(t, 1, report.Faults)
	require.Zero(t, report.Splits[0].Images)
	var text bytes.Buffer
	require.NoError(t, report.WriteText(&text))
	require.Contains(t, text.String(), "a.txt:1: class 7 is outside")

	_, err = Check(context.Background(), file, "pose")
	require.ErrorContains(t, err, "no keypoints are declared")
	_, err = Check(context.Background(), writeText(t, root, "none.yaml", "names: [a]\n"), "detect")
	require.NoError(t, err, "images/train is conventional")
	_, err = Check(context.Background(), writeText(t, t.TempDir(), "data.yaml", "names: [a]\n"), "detect")
	require.ErrorContains(t, err, "data.yaml: no split; ")
}

func TestViewDraws(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		writePicture(t, root, "images/train/"+name+".png", 60, 40)
		writeText(t, root, "labels/train/"+name+".txt", "0 .1 .1 .9 .1 .9 .9\n")
	}
	file := writeText(t, root, "data.yaml", "train: images/train\nnames: [a]\n")
	out := filepath.Join(root, "out")
	files, err := View(context.Background(), ViewRequest{Path: file, Split: "train", Count: 2, Dir: out})
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(out, "000-a.png"), filepath.Join(out, "001-b.png"), filepath.Join(out, "sheet.png")}, files)
	original, err := data.ReadRaster(filepath.Join(root, "images/train/a.png"))
	require.NoError(t, err)
	drawn, err := data.ReadRaster(files[0])
	require.NoError(t, err)
	require.Equal(t, []int{60, 40}, []int{drawn.Width, drawn.Height})
	require.NotEqual(t, original.Pixels, drawn.Pixels)

	pipeline := data.TrainingPipeline(data.Augmentation{Size: 64, Mosaic: 1, CloseEpoch: 1000, Affine: data.Affine{Scale: 0.5}})
	files, err = View(context.Background(), ViewRequest{Path: file, Split: "train", Count: 4, Dir: out, Pipeline: &pipeline, Size: 64})
	require.NoError(t, err)
	require.Len(t, files, 5, "more pictures than images take a second epoch")
	_, err = View(context.Background(), ViewRequest{Path: file, Split: "val", Count: 2, Dir: out})
	require.ErrorContains(t, err, "no entry for val")
}

func TestTilesReadBack(t *testing.T) {
	root := t.TempDir()
	writePicture(t, root, "train/images/P1.png", 100, 60)
	writePicture(t, root, "train/images/P2.png", 40, 60)
	writeText(t, root, "train/labelTxt/P1.txt", "gsd:1\n10 10 30 10 30 20 10 20 ship 0\n40 30 62 30 62 40 40 40 plane 1\n")
	out := filepath.Join(root, "tiles")
	request := TileRequest{Path: root, Dir: out, Tiling: data.Tiling{Patch: 60, Overlap: 20}}
	summary, err := Tile(context.Background(), request)
	require.NoError(t, err)
	require.Equal(t, TileSummary{Images: 2, Tiles: 3, Instances: 3, Difficult: 2}, *summary)

	config, err := data.ReadConfig(out)
	require.NoError(t, err)
	require.Equal(t, data.DOTAClasses, config.Names)
	dataset, err := data.Open(context.Background(), config, "train", data.Options{Format: data.OrientedRows})
	require.NoError(t, err)
	require.Equal(t, []string{"P1__0_0.png", "P1__40_0.png", "P2__0_0.png"},
		[]string{filepath.Base(dataset.Items[0].Image), filepath.Base(dataset.Items[1].Image), filepath.Base(dataset.Items[2].Image)})
	require.Equal(t, "P1.png", dataset.Items[1].SourceImage)
	require.Equal(t, []int{40, 0, 100, 60}, dataset.Items[1].Window)
	// 20 of the plane's 22 pixels are in the first tile, all in the second.
	require.Equal(t, []geometry.RotatedBox{{CenterX: 20, CenterY: 15, Width: 20, Height: 10}, {CenterX: 51, CenterY: 35, Width: 22, Height: 10}}, dataset.Items[0].Target.Rotated)
	require.Equal(t, []bool{false, true}, dataset.Items[0].Target.Difficult)
	require.Equal(t, []geometry.RotatedBox{{CenterX: 11, CenterY: 35, Width: 22, Height: 10}}, dataset.Items[1].Target.Rotated)

	whole, err := data.ReadRaster(filepath.Join(root, "train/images/P1.png"))
	require.NoError(t, err)
	tile, err := dataset.Native(1)
	require.NoError(t, err)
	require.Equal(t, whole.Pixels[3*(100*7+40):3*(100*8)], tile.Raster.Pixels[3*60*7:3*60*8])

	text, err := os.ReadFile(filepath.Join(out, "annotations", "instances_train.json"))
	require.NoError(t, err)
	var written tiledFile
	require.NoError(t, json.Unmarshal(text, &written))
	require.InDeltaSlice(t, []float64{200, 220, 220}, []float64{written.Annotations[0].Area, written.Annotations[1].Area, written.Annotations[2].Area}, 1e-9)
	require.InDelta(t, 20.0/22, written.Annotations[1].Visible, 1e-9)
	require.InDelta(t, 1, written.Annotations[2].Visible, 1e-9)

	_, err = Tile(context.Background(), request)
	require.ErrorContains(t, err, "is not empty; give a new directory")
	writePicture(t, root, "train/images/more/P1.png", 40, 60)
	request.Dir = filepath.Join(root, "again")
	_, err = Tile(context.Background(), request)
	require.ErrorContains(t, err, filepath.Join("more", "P1.png")+": a second image of this name; rename one")
	request.Tiling.Overlap = 60
	_, err = Tile(context.Background(), request)
	require.ErrorContains(t, err, "tiling: patch 60 with overlap 60")
}

// What is counted besides faults: difficult objects and the sizes of rotated
// boxes, not of their envelopes; crowds and what has no usable outline.
func TestCheckCounts(t *testing.T) {
	root := t.TempDir()
	writePicture(t, root, "train/images/P1.png", 100, 100)
	// A box of 40 x 4 pixels at 45 degrees: the root of its area is 12.6, that of
	// the envelope 31.
	writeText(t, root, "train/labelTxt/P1.txt", "30 30 58.28 58.28 55.46 61.11 27.17 32.83 ship 1\n")
	report, err := Check(context.Background(), root, "")
	require.NoError(t, err)
	split := report.Splits[0]
	require.Equal(t, []any{"obb", 1, 1}, []any{report.Task, split.Instances, split.Difficult})
	require.Equal(t, Count{"8 to 16", 1}, split.Sizes[1])

	root = t.TempDir()
	writePicture(t, root, "train/a.png", 40, 30)
	writeText(t, root, "annotations/instances_train.json", `{"images": [{"id": 1, "file_name": "a.png", "width": 40, "height": 30}],
		"categories": [{"id": 1, "name": "person"}], "annotations": [
		{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "iscrowd": 1},
		{"id": 2, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "segmentation": [[1, 2]]}]}`)
	report, err = Check(context.Background(), root, "detect")
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{report.Splits[0].Crowds, report.Splits[0].Unusable})
	var text bytes.Buffer
	require.NoError(t, report.WriteText(&text))
	require.Contains(t, text.String(), "1 crowd regions left out\n  1 instances without a usable outline left out\n")
}

// The good images of a faulty data set can be looked at.
func TestViewLeavesOutFaults(t *testing.T) {
	file, _ := faultyFolder(t)
	files, err := View(context.Background(), ViewRequest{Path: file, Split: "train", Count: 9, Dir: t.TempDir()})
	require.NoError(t, err)
	require.Len(t, files, 4, "three good images and the sheet")
}

func TestAnnotateChecksLabels(t *testing.T) {
	_, err := Annotate(image.NewRGBA(image.Rect(0, 0, 9, 9)), data.Target{Labels: []int{2}, Boxes: make([]geometry.Box, 1)}, &data.Dataset{Names: []string{"a"}})
	require.ErrorContains(t, err, "label 2 of instance 0 has no name")
}

// A fault in the second split leaves no tiles of the first, which would stand in
// the way of the next attempt.
func TestNothingIsLeftOfFailedTiling(t *testing.T) {
	root := t.TempDir()
	writePicture(t, root, "train/images/P1.png", 100, 60)
	writeText(t, root, "train/labelTxt/P1.txt", "10 10 30 10 30 20 10 20 ship 0\n")
	writePicture(t, root, "val/images/P2.png", 40, 60)
	writeText(t, root, "val/labelTxt/P2.txt", "10 10 30 10 30 20 10 20 boat 0\n")
	made, given := filepath.Join(root, "made"), t.TempDir()
	for _, dir := range []string{made, given} {
		_, err := Tile(context.Background(), TileRequest{Path: root, Dir: dir, Tiling: data.Tiling{Patch: 60, Overlap: 20}})
		require.ErrorContains(t, err, "P2.txt:1: ")
	}
	require.NoDirExists(t, made)
	left, err := os.ReadDir(given)
	require.NoError(t, err)
	require.Empty(t, left)
}

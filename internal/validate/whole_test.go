package validate

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/predict"
)

// tiled are the tiles of images of 160 x 100 pixels, each with the labels that it
// shows, as data tile writes them.
func tiled(sources ...string) *data.Dataset {
	dataset := &data.Dataset{Names: []string{"ship"}}
	tiling := data.Tiling{Patch: 100, Overlap: 40}
	var target data.Target
	for n := range 6 {
		rotated := geometry.RotatedBox{CenterX: 20 + 24*float64(n), CenterY: 50, Width: 14, Height: 8, Angle: 0.2}
		target.Labels = append(target.Labels, 0)
		target.Rotated = append(target.Rotated, rotated)
		target.Boxes = append(target.Boxes, rotated.Envelope())
	}
	for _, source := range sources {
		for _, window := range tiling.Windows(160, 100) {
			shown, _ := data.TileTarget(target, window)
			dataset.Items = append(dataset.Items, data.Item{
				Image: fmt.Sprint(source, window.Min.X), SourceImage: source, Target: shown, Width: 100, Height: 100,
				Window: []int{window.Min.X, window.Min.Y, window.Max.X, window.Max.Y},
			})
		}
	}
	return dataset
}

// foundOn are the labels of a tile as a network would give them, best first.
func foundOn(item data.Item) []predict.Instance {
	var list []predict.Instance
	for i := range item.Target.Rotated {
		list = append(list, predict.Instance{Score: 0.9 - float64(i)/100, Rotated: &item.Target.Rotated[i]})
	}
	return list
}

// Section 9.4: what several tiles show counts once, in pixels of the image, for
// both decode paths.
func TestTilesAreJudgedAsWholeImages(t *testing.T) {
	dataset := tiled("a.png", "b.png")
	w, err := newWholeImages(dataset)
	require.NoError(t, err)
	shown := 0
	for i, item := range dataset.Items {
		list, err := objectsOf(item, "obb")
		require.NoError(t, err)
		shown += len(list)
		rows, truth := rotatedOf(foundOn(item), list)
		require.NoError(t, w.add(0, i, item, rows, truth))
		require.NoError(t, w.add(1, i, item, rows[:0], truth))
	}
	require.Empty(t, w.sources, "images are released when they are judged")
	require.Greater(t, shown, 12, "some objects are on two tiles")
	whole, err := w.report(dataset.Names)
	require.NoError(t, err)
	require.Equal(t, []int{2, 12}, []int{whole.Images, whole.Instances})
	require.InDelta(t, 1, figure(t, whole.Paths[0], "map"), 1e-12)
	require.Equal(t, 12, whole.Paths[0].Confusion[0][0])
	require.Zero(t, figure(t, whole.Paths[1], "map"))
	require.InDelta(t, 1, figure(t, whole.Paths[0], "mar"), 1e-12, "no cap on detections")

	report := &Report{Task: "obb", Split: "val", Images: 4, Instances: shown, Whole: whole}
	var text bytes.Buffer
	require.NoError(t, report.WriteText(&text))
	require.Contains(t, text.String(), "put together from these tiles: 2 whole images, 12 instances\n\nend to end (e2e)\n  map          1.0000\n")
	directory := t.TempDir()
	require.NoError(t, report.save(directory))
	require.FileExists(t, filepath.Join(directory, "whole-nms-confusion.png"))
}

// An image whose tiles make no grid is left out and named; without tiles there
// are no whole images.
func TestIncompleteImagesAreLeftOut(t *testing.T) {
	dataset := tiled("a.png", "b.png")
	dataset.Items[0].Window = []int{0, 60, 100, 160}
	w, err := newWholeImages(dataset)
	require.NoError(t, err)
	require.NoError(t, w.add(0, 0, dataset.Items[0], nil, nil))
	whole, err := w.report(dataset.Names)
	require.NoError(t, err)
	require.Equal(t, []string{"a.png: 2 windows in 2 columns and 2 rows; a grid of them has 4"}, whole.LeftOut)

	dataset.Items = []data.Item{{Image: "a.png"}}
	w, err = newWholeImages(dataset)
	require.NoError(t, err)
	require.NoError(t, w.add(0, 0, dataset.Items[0], nil, nil))
	whole, err = w.report(dataset.Names)
	require.NoError(t, err)
	require.Nil(t, whole)
}

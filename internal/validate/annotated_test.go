package validate

import (
	"image"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/picture"
	"github.com/reprise-ml/reprise/internal/predict"
)

// judged is the path of one image of 120 x 120 pixels and one class.
func judged(t *testing.T, task string, found []predict.Instance, annotated ...data.Annotated) Path {
	t.Helper()
	j, err := newJudge(task, 1, 2)
	require.NoError(t, err)
	list, err := objectsOf(data.Item{Annotated: annotated, Width: 120, Height: 120}, task)
	require.NoError(t, err)
	require.NoError(t, j.add(found, list))
	path, err := pathOf("e2e", j, []string{"person"})
	require.NoError(t, err)
	return path
}

// Section 9.1: a crowd excuses the detections that lie in it, which without it
// are false, and the annotated area decides the range of an object.
func TestCrowdsAndAnnotatedAreas(t *testing.T) {
	person := geometry.Box{X1: 10, Y1: 10, X2: 30, Y2: 30}
	found := []predict.Instance{
		{Score: 0.9, Box: geometry.Box{X1: 60, Y1: 60, X2: 80, Y2: 80}},
		{Score: 0.8, Box: geometry.Box{X1: 70, Y1: 65, X2: 90, Y2: 95}},
		{Score: 0.7, Box: person},
	}
	area := 5000.0
	alone := judged(t, "detect", found, data.Annotated{Box: person})
	require.InDelta(t, 1.0/3, figure(t, alone, "map"), 1e-12, "two of three are false")
	require.Equal(t, [][]int{{1, 2}, {0, 0}}, alone.Confusion)
	require.InDelta(t, 1.0/3, figure(t, alone, "map_s"), 1e-12)
	require.Equal(t, -1.0, figure(t, alone, "map_m"))

	crowd := data.Annotated{Crowd: true, Box: geometry.Box{X1: 50, Y1: 50, X2: 120, Y2: 120}}
	excused := judged(t, "detect", found, data.Annotated{Box: person, Area: &area}, crowd)
	require.InDelta(t, 1, figure(t, excused, "map"), 1e-12)
	require.Equal(t, [][]int{{1, 0}, {0, 0}}, excused.Confusion)
	require.Equal(t, 1, excused.Classes[0].Instances, "a crowd is no instance")
	require.Equal(t, -1.0, figure(t, excused, "map_s"))
	require.InDelta(t, 1, figure(t, excused, "map_m"), 1e-12, "the annotated area, not that of the box")
}

// A COCO split is opened with its crowds, and one of other classes is refused.
func TestOpenReadsForEvaluation(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "annotations"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "val"), 0o755))
	require.NoError(t, picture.WritePNG(filepath.Join(root, "val", "a.png"), image.NewRGBA(image.Rect(0, 0, 40, 30))))
	require.NoError(t, os.WriteFile(filepath.Join(root, "annotations", "instances_val.json"), []byte(`{
		"images": [{"id": 1, "file_name": "a.png", "width": 40, "height": 30}], "categories": [{"id": 1, "name": "person"}],
		"annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "area": 7},
			{"id": 2, "image_id": 1, "category_id": 1, "bbox": [5, 5, 9, 9], "iscrowd": 1}]}`), 0o644))
	described, err := data.ReadConfig(root)
	require.NoError(t, err)
	settings, err := config.Defaults("detect")
	require.NoError(t, err)
	model := &predict.Model{Settings: settings, Labels: checkpoint.Labels{Classes: []string{"person"}}}
	dataset, err := open(t.Context(), described, model, Request{Split: "val"})
	require.NoError(t, err)
	require.Len(t, dataset.Items[0].Annotated, 2)
	v := &validation{model: model, dataset: dataset}
	require.Equal(t, []string{"1 annotations have no area; that of the box, the mask or the labelled keypoints stands in"}, v.notes())

	model.Labels.Classes[0] = "dog"
	_, err = open(t.Context(), described, model, Request{Split: "val", Weights: "runs/last.safetensors"})
	require.ErrorContains(t, err, `names other classes than last.safetensors: class 0 ("dog", now "person"); give the data set`)
}

// Section 9.2: a person without labelled keypoints only excuses detections.
func TestAnnotatedKeypoints(t *testing.T) {
	points := []geometry.Point{{X: 20, Y: 20}, {X: 30, Y: 30}}
	far := []geometry.Point{{X: 100, Y: 100}, {X: 104, Y: 104}}
	area := 3000.0
	labelled := data.Annotated{Box: geometry.Box{X1: 10, Y1: 10, X2: 40, Y2: 40}, Area: &area, Keypoints: points, Visibility: []uint8{2, 1}, Labelled: 2}
	unlabelled := data.Annotated{Box: geometry.Box{X1: 90, Y1: 90, X2: 110, Y2: 110}, Area: &area, Keypoints: far, Visibility: []uint8{2, 2}}
	found := []predict.Instance{{Score: 0.9, Keypoints: far}, {Score: 0.8, Keypoints: points}}
	for _, detected := range [][]predict.Instance{found, found[1:]} {
		require.InDelta(t, 1, figure(t, judged(t, "pose", detected, labelled, unlabelled), "oks_map"), 1e-12)
	}
	unlabelled.Labelled = 2
	require.Less(t, figure(t, judged(t, "pose", found[1:], labelled, unlabelled), "oks_map"), 0.6)
}

// The mask of an object is that of all rings, so half of it is not enough.
func TestAnnotatedMasksAreWhole(t *testing.T) {
	left, whole := mask.New(120, 120), mask.New(120, 120)
	for row := range 20 {
		for column := range 40 {
			whole.Set(row, column)
			if column < 18 {
				left.Set(row, column)
			}
		}
	}
	list := []object{{mask: whole, box: geometry.Box{X2: 40, Y2: 20}}}
	for m, want := range map[*mask.Bitmap]float64{whole: 1, left: 0} {
		j, err := newJudge("segment", 1, 0)
		require.NoError(t, err)
		require.NoError(t, j.add([]predict.Instance{{Score: 1, Box: list[0].box, Mask: m}}, list))
		path, err := pathOf("e2e", j, []string{"person"})
		require.NoError(t, err)
		require.InDelta(t, want, figure(t, path, "segm_map"), 1e-12)
	}
}

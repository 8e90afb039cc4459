package data

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
)

func openEvaluation(t *testing.T, root, task string) (*Dataset, error) {
	t.Helper()
	config, err := ReadConfig(root)
	require.NoError(t, err)
	format, err := config.Rows(task)
	require.NoError(t, err)
	return Open(context.Background(), config, "val", Options{Format: format, Evaluation: true})
}

// Section 9.1: crowds are kept, areas are the annotated ones, boxes are not
// clamped, and what has an unusable outline for training is evaluated.
func TestCOCOForEvaluation(t *testing.T) {
	annotations := []string{
		`{"id": 1, "image_id": 9, "category_id": 7, "bbox": [-2, 5, 12, 50], "area": 77.5, "segmentation": [[1,1,5,1,5,5,1,5],[8,8,10,8,10,10,8,10],[1,2]]}`,
		`{"id": 2, "image_id": 9, "category_id": 3, "bbox": [0, 0, 9, 9], "area": 30, "iscrowd": 1, "segmentation": {"counts": [60, 3, 1137], "size": [30, 40]}}`,
		`{"id": 3, "image_id": 9, "category_id": 3, "bbox": [0, 0, 9, 9], "segmentation": {"counts": [1200], "size": [30, 40]}}`,
		`{"id": 4, "image_id": 9, "category_id": 3, "bbox": [0, 0, 0, 9], "segmentation": []}`,
		`{"id": 5, "image_id": 4, "category_id": 3, "bbox": [0, 0, 4, 9]}`,
	}
	root := writeCOCO(t, cocoCategories, annotations[:2]...)
	dataset, err := openEvaluation(t, root, "segment")
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 0, 1}, []int{dataset.Instances(), dataset.Crowds, dataset.Unusable, dataset.Backgrounds})
	item := dataset.Items[1]
	require.Empty(t, item.Target.Labels)
	require.Equal(t, []bool{false, true}, []bool{item.Annotated[0].Crowd, item.Annotated[1].Crowd})
	require.Equal(t, geometry.Box{X1: -2, Y1: 5, X2: 10, Y2: 55}, item.Annotated[0].Box)
	require.Equal(t, 77.5, *item.Annotated[0].Area)
	both, err := item.Annotated[0].Mask(40, 30)
	require.NoError(t, err)
	require.Equal(t, 16+4, both.Area(), "all rings")
	crowd, err := item.Annotated[1].Mask(40, 30)
	require.NoError(t, err)
	require.Equal(t, 3, crowd.Area())
	require.True(t, crowd.At(0, 2) && crowd.At(2, 2), "runs go down the columns")
	_, err = item.Annotated[1].Mask(30, 40)
	require.EqualError(t, err, "run lengths of 40x30 for an image of 30x40")

	root = writeCOCO(t, cocoCategories, annotations...)
	dataset, err = openEvaluation(t, root, "detect")
	require.NoError(t, err)
	require.Len(t, dataset.Items[1].Annotated, 4, "boxes need no outline")
	require.Nil(t, dataset.Items[0].Annotated[0].Area)
	require.Equal(t, 4, dataset.Instances())
}

// Masks that are there in part, or not at all.
func TestOutlinesForEvaluation(t *testing.T) {
	good := `{"id": 1, "image_id": 4, "category_id": 3, "bbox": [0, 0, 9, 9], "segmentation": [[1,1,5,1,5,5,1,5]]}`
	for segmentation, unusable := range map[string]int{
		``: 1, `, "segmentation": []`: 1, `, "segmentation": [[1,2,3,4]]`: 1, `, "segmentation": {"counts": [], "size": [30, 40]}`: 1,
		`, "segmentation": {"counts": "` + "`U1" + `", "size": [30, 40]}`: 0, `, "segmentation": [[1,2],[1,1,5,1,5,5]]`: 0,
	} {
		root := writeCOCO(t, cocoCategories, good, `{"id": 8, "image_id": 9, "category_id": 3, "bbox": [0, 0, 9, 9]`+segmentation+`}`)
		dataset, err := openEvaluation(t, root, "segment")
		require.NoError(t, err, segmentation)
		require.Equal(t, unusable, dataset.Unusable, segmentation)
	}
	for annotation, want := range map[string]string{
		`"bbox": [0, 0, 9, 9], "segmentation": [[1,1,5,1,5]]`:                          "annotation 8: a ring of 5 numbers; write rings",
		`"bbox": [0, 0, 9, 9], "segmentation": "x"`:                                    "annotation 8: segmentation holds neither rings nor run lengths; ",
		`"bbox": [0, 0, 9, 9], "segmentation": {"counts": [1200], "size": [40, 30]}`:   "annotation 8: run lengths of 30x40 for an image of 40x30; ",
		`"bbox": [0, 0, 9, 9], "segmentation": {"counts": [1199], "size": [30, 40]}`:   "annotation 8: runs of 1199 pixels for a mask of 40 x 30; write rings",
		`"bbox": [0, 0, 9, 9], "segmentation": {"counts": true, "size": [30, 40]}`:     "annotation 8: the counts of the run lengths are neither numbers nor text; ",
		`"bbox": [0, 0, 9, 9], "segmentation": {"counts": "\u0001", "size": [30, 40]}`: "annotation 8: run lengths: letter ",
		`"bbox": [0, 0, 9], "segmentation": [[1,1,5,1,5,5]]`:                           "annotation 8: bbox is [0 0 9]; ",
		`"bbox": [0, 0, 9, 9], "area": -1, "segmentation": [[1,1,5,1,5,5]]`:            "annotation 8: area is -1; write the area",
		`"bbox": [0, 0, 9, 9], "difficult": 3, "segmentation": [[1,1,5,1,5,5]]`:        "annotation 8: difficult is 3; ",
		`"bbox": [0, 0, 9, 9], "category_id": 99, "segmentation": [[1,1,5,1,5,5]]`:     "annotation 8: category 99 is not declared; ",
	} {
		_, err := openEvaluation(t, writeCOCO(t, cocoCategories, good, `{"id": 8, "image_id": 9, "category_id": 3, `+annotation+`}`), "segment")
		require.ErrorContains(t, err, "instances_val2017.json:5: "+want)
	}
}

// Section 9.2: the number of labelled keypoints is the annotated one.
func TestKeypointsForEvaluation(t *testing.T) {
	categories := `"categories": [{"id": 3, "name": "person", "keypoints": ["a", "b"]}]`
	root := writeCOCO(t, categories,
		`{"id": 1, "image_id": 9, "category_id": 3, "bbox": [1, 1, 5, 5], "keypoints": [1,2,2, 0,0,0]}`,
		`{"id": 2, "image_id": 9, "category_id": 3, "bbox": [1, 1, 5, 5], "num_keypoints": 0, "keypoints": [1,2,2, 3,4,1]}`,
		`{"id": 3, "image_id": 9, "category_id": 3, "bbox": [1, 1, 5, 5], "iscrowd": 1}`)
	dataset, err := openEvaluation(t, root, "pose")
	require.NoError(t, err)
	var labelled []int
	for _, annotated := range dataset.Items[1].Annotated {
		labelled = append(labelled, annotated.Labelled)
		require.Len(t, annotated.Keypoints, 2)
	}
	require.Equal(t, []int{1, 0, 0}, labelled)
	_, err = openEvaluation(t, writeCOCO(t, categories, `{"id": 3, "image_id": 9, "category_id": 3, "bbox": [1, 1, 5, 5], "keypoints": [1]}`), "pose")
	require.ErrorContains(t, err, "annotation 3: keypoints has 1 numbers where 2 keypoints need 6; ")
}

// Where a tile was cut must be told and fit the tile.
func TestWindowsOfTilesAreChecked(t *testing.T) {
	for window, want := range map[string]string{
		`[10, 20, 50, 50]`: "", `[0, 0, 40]`: "image 9: a window of [0 0 40] for a tile of 40x30; cut the tiles again",
		`[10, 20, 40, 50]`: "image 9: a window of [10 20 40 50] for a tile of 40x30; ", `[-1, 0, 39, 30]`: "image 9: a window of",
	} {
		root := t.TempDir()
		writeImage(t, root, "val/a.png", 40, 30, 2)
		writeFile(t, root, "annotations/instances_val.json", `{"images": [
{"id": 9, "file_name": "a.png", "width": 40, "height": 30, "source_image": "big.png", "window": `+window+`}],
"annotations": [], "categories": [{"id": 1, "name": "a"}]}`)
		dataset, err := openCOCOVal(t, root, OrientedRows)
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, []int{10, 20, 50, 50}, dataset.Items[0].Window)
			continue
		}
		require.ErrorContains(t, err, "instances_val.json:2: "+want)
	}
}

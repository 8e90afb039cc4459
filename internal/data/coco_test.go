package data

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
)

const cocoCategories = `"categories": [{"id": 7, "name": "ship", "keypoints": []}, {"id": 3, "name": "plane"}]`

// writeCOCO writes a COCO root with two images of 40 x 30 pixels in split val and
// the given annotations, one a line after three lines of header.
func writeCOCO(t *testing.T, categories string, annotations ...string) string {
	t.Helper()
	root := t.TempDir()
	writeImage(t, root, "val2017/b.png", 40, 30, 1)
	writeImage(t, root, "val2017/a.png", 40, 30, 2)
	text := `{"info": {"nested": [1, {"deep": null}]},` + "\n" +
		`"images": [{"id": 9, "file_name": "a.png", "width": 40, "height": 30}, {"id": 4, "file_name": "b.png", "width": 40, "height": 30}],` + "\n" +
		`"annotations": [` + "\n" + strings.Join(annotations, ",\n") + "\n], " + categories + "}\n"
	writeFile(t, root, "annotations/instances_val2017.json", text)
	return root
}

func openCOCOVal(t *testing.T, root string, format RowFormat) (*Dataset, error) {
	t.Helper()
	config, err := ReadConfig(root)
	if err != nil {
		return nil, err
	}
	return Open(context.Background(), config, "val", Options{Format: format})
}

// Section 2.2: images by id, categories by id, clamped boxes, first ring only,
// crowds and unusable outlines left out.
func TestCOCOInstances(t *testing.T) {
	root := writeCOCO(t, cocoCategories,
		`{"id": 1, "image_id": 9, "category_id": 7, "bbox": [-2, 5, 12, 50], "segmentation": [[1,2,3,4,5,6],[9,9,9,9,9,9]]}`,
		`{"id": 2, "image_id": 9, "category_id": 3, "bbox": [1, 1, 2, 2], "segmentation": [[1,1,3,1,3,3,1,3]], "difficult": 1}`,
		`{"id": 3, "image_id": 9, "category_id": 3, "bbox": [0, 0, 9, 9], "iscrowd": 1, "segmentation": {"counts": [1], "size": [30, 40]}}`,
		`{"id": 4, "image_id": 9, "category_id": 3, "bbox": [0, 0, 9, 9], "segmentation": {"counts": [1], "size": [30, 40]}}`,
		`{"id": 5, "image_id": 9, "category_id": 3, "bbox": [0, 0, 9, 9], "segmentation": []}`,
		`{"id": 6, "image_id": 9, "category_id": 3, "bbox": [0, 0, 9, 9], "segmentation": [[1,2,3,4]]}`,
		`{"id": 7, "image_id": 9, "category_id": 3, "bbox": [0, 0, 9, 9], "segmentation": [[1,2,3,4,5,6,7]]}`,
		`{"id": 8, "image_id": 4, "category_id": 3, "bbox": [0, 0, 9, 9], "segmentation": [[1,2,3,4,5,6]]}`,
		`{"id": 9, "image_id": 4, "category_id": 3, "bbox": [0, 0, 0, 9]}`,
	)
	dataset, err := openCOCOVal(t, root, BoxRows)
	require.NoError(t, err)
	require.Equal(t, []string{"plane", "ship"}, dataset.Names)
	require.Equal(t, []int64{3, 7}, dataset.Categories)
	require.Equal(t, []int64{4, 9}, []int64{dataset.Items[0].ID, dataset.Items[1].ID})
	require.Equal(t, []int{1, 4}, []int{dataset.Crowds, dataset.Unusable})

	first, second := dataset.Items[0].Target, dataset.Items[1].Target
	require.Empty(t, first.Polygons, "one instance has no ring")
	require.Equal(t, geometry.Box{X2: 0, Y2: 9}, first.Boxes[1], "training keeps boxes without area")
	require.Equal(t, []int{1, 0}, second.Labels)
	require.Equal(t, geometry.Box{X1: 0, Y1: 5, X2: 10, Y2: 30}, second.Boxes[0])
	require.Equal(t, []geometry.Point{{X: 1, Y: 2}, {X: 3, Y: 4}, {X: 5, Y: 6}}, second.Polygons[0])
	require.Equal(t, []bool{false, true}, second.Difficult)

	// Segmentation needs a ring, so the instance without one is left out there.
	dataset, err = openCOCOVal(t, root, PolygonRows)
	require.NoError(t, err)
	require.Equal(t, 5, dataset.Unusable)
	require.Len(t, dataset.Items[0].Target.Polygons, 1)
}

func TestCOCOOriented(t *testing.T) {
	root := writeCOCO(t, cocoCategories,
		`{"id": 1, "image_id": 9, "category_id": 7, "bbox": [0, 0, 1, 1], "segmentation": [[-5,1,5,1,5,3,-5,3]]}`,
		`{"id": 2, "image_id": 9, "category_id": 7, "bbox": [0, 0, 1, 1]}`)
	dataset, err := openCOCOVal(t, root, OrientedRows)
	require.NoError(t, err)
	target := dataset.Items[1].Target
	require.Equal(t, []geometry.RotatedBox{{CenterX: 0, CenterY: 2, Width: 10, Height: 2}}, target.Rotated)
	require.Equal(t, geometry.Box{X1: -5, Y1: 1, X2: 5, Y2: 3}, target.Boxes[0], "the envelope of the ring, not clamped")
	require.Empty(t, target.Polygons)
	require.Equal(t, 1, dataset.Unusable)
}

func TestCOCOKeypoints(t *testing.T) {
	categories := `"categories": [{"id": 1, "name": "person", "keypoints": ["nose", "Left_eye", "right_eye", "hand_left", "hand_RIGHT"], "skeleton": [[1, 2], [5, 3]]}]`
	root := writeCOCO(t, categories,
		`{"id": 1, "image_id": 9, "category_id": 1, "bbox": [1, 1, 5, 5], "keypoints": [1,2,2, 0,0,0, 50,-3,1, 4,5,2, 6,7,1]}`)
	config, err := ReadConfig(root)
	require.NoError(t, err)
	require.Equal(t, KeypointShape{5, 3}, config.Keypoints)
	require.Equal(t, KeypointSchema{
		Names:     []string{"nose", "Left_eye", "right_eye", "hand_left", "hand_RIGHT"},
		FlipOrder: []int{0, 2, 1, 4, 3}, Skeleton: [][2]int{{0, 1}, {4, 2}},
	}, config.Schema)
	format, err := config.Rows("pose")
	require.NoError(t, err)
	dataset, err := Open(context.Background(), config, "val", Options{Format: format})
	require.NoError(t, err)
	require.Equal(t, config.Schema, dataset.Schema)
	target := dataset.Items[1].Target
	require.Equal(t, []uint8{2, 0, 1, 2, 1}, target.Visibility[0])
	require.Equal(t, geometry.Point{X: 50, Y: -3}, target.Keypoints[0][2], "carried as they are")

	for names, want := range map[string]string{
		`"left_eye", "nose"`:      "keypoint left_eye has no partner on the other side; ",
		`"nose", "Nose"`:          "keypoint Nose is named twice; ",
		`"left_eye", "eye_right"`: "keypoint left_eye has no partner",
	} {
		_, err := ReadConfig(writeCOCO(t, `"categories": [{"id": 1, "name": "p", "keypoints": [`+names+`]}]`))
		require.ErrorContains(t, err, want)
	}
	for _, bone := range []string{"[1, 3]", "[0, 1]", "[1]"} {
		_, err := ReadConfig(writeCOCO(t, `"categories": [{"id": 1, "name": "p", "keypoints": ["a", "b"], "skeleton": [`+bone+`]}]`))
		require.ErrorContains(t, err, "category p has 2 keypoints and the bone ["+strings.ReplaceAll(bone[1:], ",", "")+" in its skeleton; write pairs")
	}
	order, problem := flipOrderOf([]string{"nose", "tail"})
	require.Empty(t, problem)
	require.Nil(t, order, "nothing is exchanged")
	_, err = ReadConfig(writeCOCO(t, `"categories": [{"id": 1, "name": "p", "keypoints": ["a"]}, {"id": 2, "name": "q", "keypoints": ["b"]}]`))
	require.ErrorContains(t, err, "category q has other keypoints than the categories before; ")
}

// Field cases YO-08, YO-10 and YO-20, for COCO: every fault once, with its line.
func TestCOCOFaults(t *testing.T) {
	categories := `"categories": [{"id": 3, "name": "plane", "keypoints": ["a", "b"]}]`
	good := `{"id": 1, "image_id": 9, "category_id": 3, "bbox": [1, 1, 5, 5], "segmentation": [[1,1,5,1,5,5,1,5]], "keypoints": [1,1,2,1,1,2]}`
	cases := []struct {
		annotation string
		format     RowFormat
		want       string
	}{
		{`{"id": 8, "image_id": 9, "category_id": 4, "bbox": [1, 1, 5, 5]}`, BoxRows, "annotation 8: category 4 is not declared; "},
		{`{"id": 8, "image_id": 5, "category_id": 3, "bbox": [1, 1, 5, 5]}`, BoxRows, "annotations of image 5, which the list images has not; "},
		{`{"id": 8, "image_id": 9, "category_id": 3, "bbox": [1, 1, 5]}`, BoxRows, "annotation 8: bbox is [1 1 5]; "},
		{`{"id": 8, "image_id": 9, "category_id": 3, "bbox": [1, 1, -5, 5]}`, BoxRows, "annotation 8: bbox is [1 1 -5 5]; "},
		{`{"id": 8, "image_id": 9, "category_id": 3, "bbox": [1, 1, 5, 5], "difficult": 2}`, BoxRows, "annotation 8: difficult is 2; "},
		{`{"id": 8, "image_id": 9, "category_id": 3, "bbox": [1, 1, 5, 5], "segmentation": [[1,1,5,1,5,5]]}`, OrientedRows, "annotation 8: the ring has 3 points where an oriented box has 4; "},
		{`{"id": 8, "image_id": 9, "category_id": 3, "bbox": [1, 1, 5, 5], "keypoints": [1,1,2]}`, KeypointRows(KeypointShape{2, 3}), "annotation 8: keypoints has 3 numbers where 2 keypoints need 6; "},
		{`{"id": 8, "image_id": 9, "category_id": 3, "bbox": [1, 1, 5, 5], "keypoints": [1,1,2,1,1,4]}`, KeypointRows(KeypointShape{2, 3}), "annotation 8: visibility of keypoint 1 is 4; "},
	}
	for _, c := range cases {
		_, err := openCOCOVal(t, writeCOCO(t, categories, good, c.annotation), c.format)
		require.ErrorContains(t, err, "instances_val2017.json:5: "+c.want)
		require.Len(t, err.(*FaultsError).Faults, 1)
	}
}

func TestCOCOFilesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"images\": [\n{\"id\": 1,}]}":       "instances_val2017.json:3: not JSON: invalid character '}'",
		`{"categories": [`:                       "instances_val2017.json:1: the file is cut short; copy it again",
		`[]`:                                     "instances_val2017.json:1: not a COCO annotation file: [ where { is expected; ",
		`{"categories": []}`:                     "instances_val2017.json: no categories; ",
		`{"categories": [{"id": 1, "name": 5}]}`: "name is a JSON number of the wrong kind; ",
		`{"categories": [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]}`: "category 1 has no name or is declared twice; ",
		`{` + cocoCategories + `}`: "instances_val2017.json: no images; ",
		`{"images": [{"id": 4, "file_name": "a.png"}], ` + cocoCategories + `}`:                                                                                        "image 4 has no file_name, width or height; ",
		`{"images": [{"id": 4, "file_name": "a.png", "width": 3, "height": 30}], ` + cocoCategories + `}`:                                                              "a.png: image is 40x30 and declared as 3x30; ",
		`{"images": [{"id": 4, "file_name": "c.png", "width": 3, "height": 30}], ` + cocoCategories + `}`:                                                              "c.png: image does not exist; ",
		`{"images": [{"id": 4, "file_name": "a.png", "width": 40, "height": 30}, {"id": 4, "file_name": "b.png", "width": 40, "height": 30}], ` + cocoCategories + `}`: "image id 4 is declared twice; ",
	} {
		root := writeCOCO(t, cocoCategories)
		writeFile(t, root, "annotations/instances_val2017.json", text)
		_, err := openCOCOVal(t, root, BoxRows)
		require.ErrorContains(t, err, want)
	}
}

func TestLayoutIsResolved(t *testing.T) {
	root := writeCOCO(t, cocoCategories)
	config, err := ReadConfig(filepath.Join(root, "annotations", "instances_val2017.json"))
	require.NoError(t, err, "an annotation file means COCO")
	require.True(t, config.Has("val"))
	require.False(t, config.Has("train"))
	_, err = Open(context.Background(), config, "train", Options{Format: BoxRows})
	require.ErrorContains(t, err, "no split train; put images into "+filepath.Join(root, "train2017"))

	writeImage(t, root, "train2017/c.png", 40, 30, 1)
	writeFile(t, root, "annotations/instances_train2017.json",
		`{"images": [{"id": 1, "file_name": "c.png", "width": 40, "height": 30}], "categories": [{"id": 3, "name": "plane"}]}`)
	config, err = ReadConfig(root)
	require.NoError(t, err)
	_, err = Open(context.Background(), config, "train", Options{Format: BoxRows})
	require.ErrorContains(t, err, "the category ids differ from those of another split; ")

	writeFile(t, root, "data.yaml", "names: [a]\n")
	_, err = ReadConfig(root)
	require.ErrorContains(t, err, "both data.yaml and COCO annotations are here; ")
	empty := t.TempDir()
	_, err = ReadConfig(empty)
	require.ErrorContains(t, err, "neither data.yaml nor COCO annotations are here; give the path of a yaml file, or put images into")
	writeFile(t, empty, "coco8.yaml", "names: [a]\n")
	_, err = ReadConfig(empty)
	require.ErrorContains(t, err, "; give its yaml file "+filepath.Join(empty, "coco8.yaml")+", or put images into")
	writeFile(t, empty, "other.yml", "names: [a]\n")
	_, err = ReadConfig(empty)
	require.ErrorContains(t, err, "; give the path of a yaml file, or put")
	_, err = ReadConfig(filepath.Join(empty, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)

	// The other places of section 2.1.
	for _, place := range [][2]string{
		{"val", "annotations/instances_val.json"}, {"images/val", "annotations/instances_val.json"}, {"val", "val/_annotations.coco.json"},
	} {
		other := t.TempDir()
		writeImage(t, other, place[0]+"/a.png", 40, 30, 2)
		writeFile(t, other, place[1], `{"images": [{"id": 9, "file_name": "a.png", "width": 40, "height": 30}], `+cocoCategories+`}`)
		dataset, err := openCOCOVal(t, other, BoxRows)
		require.NoError(t, err)
		require.Len(t, dataset.Items, 1)
	}
}

// A file is streamed: passing over 24 MB of annotations needs little memory.
func TestCOCOIsStreamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large.json")
	opened, err := os.Create(file)
	require.NoError(t, err)
	ring := strings.TrimSuffix(strings.Repeat("12.5,", 400), ",")
	_, err = opened.WriteString(`{"annotations": [`)
	require.NoError(t, err)
	for i := range 12000 {
		_, err = fmt.Fprintf(opened, `{"id": %d, "image_id": 1, "category_id": 3, "bbox": [1,1,2,2], "segmentation": [[%s]]},`, i, ring)
		require.NoError(t, err)
	}
	_, err = opened.WriteString(`{"id": 0}], ` + cocoCategories + `}`)
	require.NoError(t, err)
	require.NoError(t, opened.Close())

	peak, count := uint64(0), 0
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, visitCOCO(file, cocoVisitor{annotation: func(cocoAnnotation, int64) {
		if count++; count%1000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
		}
	}}))
	require.Equal(t, 12001, count)
	require.Less(t, peak, uint64(4<<20))
	categories, err := readCategories(file)
	require.NoError(t, err)
	require.Len(t, categories, 2)
}

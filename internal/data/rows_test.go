package data

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Field cases YO-20 (K=17, D=3: 56 fields pass, 55 are listed) and YO-19 (rows
// without a visibility column).
func TestKeypointRows(t *testing.T) {
	format := KeypointRows(KeypointShape{17, 3})
	row := "0 .5 .5 .4 .4" + strings.Repeat(" .5 .25 2", 17)
	require.Len(t, strings.Fields(row), 56)
	labels, faults := ParseLabels("a.txt", []byte(row), format, 1, 100, 200)
	require.Empty(t, faults)
	require.NoError(t, labels.Target.Validate())
	require.Equal(t, geometry.Point{X: 50, Y: 50}, labels.Target.Keypoints[0][16])
	require.Equal(t, uint8(2), labels.Target.Visibility[0][16])
	require.InDeltaSlice(t, []float64{30, 60, 70, 140}, boxValues(labels.Target.Boxes[0]), 1e-9)

	short := strings.TrimSuffix(row, " 2")
	_, faults = ParseLabels("a.txt", []byte("\n"+short), format, 1, 100, 200)
	require.Len(t, faults, 1)
	require.Equal(t, "a.txt:2: 55 fields where the declared format is keypoint; write class cx cy w h and 17 times x y v, 56 fields, or declare the format that the rows have", faults[0].String())

	labels, faults = ParseLabels("a.txt", []byte("0 .5 .5 .4 .4 .1 .2 .3 .4"), KeypointRows(KeypointShape{2, 2}), 1, 10, 10)
	require.Empty(t, faults)
	require.Equal(t, []uint8{2, 2}, labels.Target.Visibility[0])
}

func TestKeypointRanges(t *testing.T) {
	format := KeypointRows(KeypointShape{1, 3})
	for _, c := range []struct{ point, want string }{
		{"1.0009 -0.0009 2.0", ""},
		{"7 -3 0", ""},
		{"1.0011 .5 1", "a.txt:1: coordinate 1.0011 is outside 0..1 in keypoint 0; "},
		{".5 -0.0011 2", "a.txt:1: coordinate -0.0011 is outside 0..1 in keypoint 0; "},
		{".5 .5 3", "a.txt:1: visibility 3 of keypoint 0 is not 0, 1 or 2; "},
		{".5 .5 0.5", "a.txt:1: visibility 0.5 of keypoint 0 is not 0, 1 or 2; "},
		{".5 .5 -1", "a.txt:1: visibility -1 of keypoint 0 is not 0, 1 or 2; "},
	} {
		labels, faults := ParseLabels("a.txt", []byte("0 .5 .5 .4 .4 "+c.point), format, 1, 10, 10)
		if c.want == "" {
			require.Empty(t, faults)
			require.Len(t, labels.Target.Keypoints, 1)
			continue
		}
		require.Len(t, faults, 1)
		require.Contains(t, faults[0].String(), c.want)
	}
	labels, _ := ParseLabels("a.txt", []byte("0 .5 .5 .4 .4 1.0009 -0.0009 2"), format, 1, 10, 10)
	require.Equal(t, geometry.Point{X: 10, Y: 0}, labels.Target.Keypoints[0][0], "clamped")
}

func TestPolygonRows(t *testing.T) {
	labels, faults := ParseLabels("a.txt", []byte("1 0.1 0.2 1.0005 0.2 0.5 -0.0005\n"), PolygonRows, 2, 100, 10)
	require.Empty(t, faults)
	require.Equal(t, []geometry.Point{{X: 10, Y: 2}, {X: 100, Y: 2}, {X: 50, Y: 0}}, labels.Target.Polygons[0])
	require.Equal(t, geometry.Box{X1: 10, Y1: 0, X2: 100, Y2: 2}, labels.Target.Boxes[0])
	for row, want := range map[string]string{
		"0 .1 .1 .2 .2":             "a.txt:1: 5 fields where the declared format is polygon; write class x1 y1 x2 y2 x3 y3 ..., or",
		"0 .1 .1 .2 .2 .3 .3 .4":    "a.txt:1: 8 fields",
		"0 .1 .1 .2 .2 .3 1.0371":   "a.txt:1: coordinate 1.0371 is outside 0..1; ",
		"0 -0.042141 .1 .2 .2 .3 0": "a.txt:1: coordinate -0.042141 is outside 0..1; ",
	} {
		_, faults := ParseLabels("a.txt", []byte(row), PolygonRows, 2, 100, 10)
		require.Len(t, faults, 1)
		require.Contains(t, faults[0].String(), want)
	}
}

func TestKeypointKeysOfDataYAML(t *testing.T) {
	directory := t.TempDir()
	read := func(keys string) (*Config, error) {
		return ReadConfig(writeFile(t, directory, "data.yaml", "train: images\nnames: [person]\n"+keys))
	}
	config, err := read("kpt_shape: [3, 2]\nflip_idx: [0, 2, 1]\n")
	require.NoError(t, err)
	require.Equal(t, KeypointShape{3, 2}, config.Keypoints)
	require.Equal(t, []int{0, 2, 1}, config.Schema.FlipOrder)
	format, err := config.Rows("pose")
	require.NoError(t, err)
	require.Equal(t, KeypointRows(KeypointShape{3, 2}), format)

	for keys, want := range map[string]string{
		"kpt_shape: [17]\n":                        "data.yaml:3: kpt_shape is not [K, 2] or [K, 3]; ",
		"kpt_shape: [17, 4]\n":                     "data.yaml:3: kpt_shape is not [K, 2] or [K, 3]; ",
		"kpt_shape: [0, 3]\n":                      "data.yaml:3: kpt_shape is not",
		"kpt_shape: 17\n":                          "data.yaml:3: kpt_shape is not",
		"kpt_shape: [3, 3]\nflip_idx: [0, 1]\n":    "data.yaml:4: flip_idx is not a list of 3 integers; ",
		"kpt_shape: [3, 3]\nflip_idx: [1, 2, 0]\n": "data.yaml:4: flip_idx: flip: keypoint order maps 0 to 1 but not back",
		"flip_idx: [0]\n":                          "data.yaml:3: flip_idx is not a list of 0 integers; ",
	} {
		_, err := read(keys)
		require.ErrorContains(t, err, want)
	}
	config, err = read("")
	require.NoError(t, err)
	_, err = config.Rows("pose")
	require.ErrorContains(t, err, "no keypoints are declared, which the task pose needs; add kpt_shape")
	_, err = config.Rows("obd")
	require.ErrorContains(t, err, `task "obd" reads no labels; use detect, obb, pose or segment`)
	for task, want := range map[string]RowFormat{"detect": BoxRows, "obb": OrientedRows, "segment": PolygonRows} {
		format, err := config.Rows(task)
		require.NoError(t, err)
		require.Equal(t, want, format)
	}
}

// Section 2.1: without an entry in data.yaml the split is where convention has it.
func TestConventionalSplits(t *testing.T) {
	for _, layout := range []string{"%s/images|%s/labels", "images/%s|labels/%s"} {
		directory := t.TempDir()
		images, labels, _ := strings.Cut(layout, "|")
		writeImage(t, directory, fmt.Sprintf(images, "train")+"/a.png", 10, 10, 1)
		writeFile(t, directory, fmt.Sprintf(labels, "train")+"/a.txt", "0 .5 .5 .2 .2\n")
		writeFile(t, directory, "data.yaml", "names: [a]\n")
		config, err := ReadConfig(directory)
		require.NoError(t, err)
		require.True(t, config.Has("train"))
		require.False(t, config.Has("val"))
		dataset := openFolder(t, directory, "train", Options{Format: BoxRows})
		require.Equal(t, 1, dataset.Instances())
		require.Equal(t, filepath.Join(directory, fmt.Sprintf(images, "train"), "a.png"), dataset.Items[0].Image)
	}
}

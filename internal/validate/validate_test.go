package validate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/predict"
)

// labels are three instances of two classes with everything a task may need.
func labels(task string) data.Target {
	square := func(x, y, side float64) []geometry.Point {
		return []geometry.Point{{X: x, Y: y}, {X: x + side, Y: y}, {X: x + side, Y: y + side}, {X: x, Y: y + side}}
	}
	target := data.Target{Labels: []int{0, 1, 0}}
	for _, ring := range [][]geometry.Point{square(4, 4, 40), square(60, 8, 36), square(20, 60, 50)} {
		target.Boxes = append(target.Boxes, geometry.Envelope(ring))
		switch task {
		case "obb":
			target.Rotated = append(target.Rotated, geometry.FitQuadrilateral([4]geometry.Point(ring)))
		case "segment":
			target.Polygons = append(target.Polygons, ring)
		case "pose":
			target.Keypoints = append(target.Keypoints, ring[:2])
			target.Visibility = append(target.Visibility, []uint8{2, 1})
		}
	}
	return target
}

// perfect are the labels as a network would give them.
func perfect(t *testing.T, target data.Target) []predict.Instance {
	t.Helper()
	found := make([]predict.Instance, target.Len())
	for i := range found {
		found[i] = predict.Instance{Class: target.Labels[i], Score: 0.9 - float64(i)/10, Box: target.Boxes[i]}
		if len(target.Rotated) > 0 {
			found[i].Rotated = &target.Rotated[i]
		}
		if len(target.Keypoints) > 0 {
			found[i].Keypoints = target.Keypoints[i]
		}
	}
	if len(target.Polygons) > 0 {
		masks, err := data.InstanceMasks(target, 120, 120, 120, 120)
		require.NoError(t, err)
		for i := range found {
			found[i].Mask = masks[i]
		}
	}
	return found
}

// objects are the labels as they are judged, on an image of 120 x 120 pixels.
func objects(t *testing.T, task string, target data.Target) []object {
	t.Helper()
	list, err := objectsOf(data.Item{Target: target, Width: 120, Height: 120}, task)
	require.NoError(t, err)
	return list
}

func figure(t *testing.T, path Path, name string) float64 {
	t.Helper()
	for _, f := range path.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	require.Fail(t, "no figure "+name)
	return 0
}

func TestPerfectDetectionsAreWorthOne(t *testing.T) {
	for task, names := range map[string][]string{
		"detect": {"map", "map_50"}, "obb": {"map", "mar_300"}, "segment": {"map", "segm_map"}, "pose": {"map", "oks_map"},
	} {
		t.Run(task, func(t *testing.T) {
			target := labels(task)
			j, err := newJudge(task, 2, 2)
			require.NoError(t, err)
			require.NoError(t, j.add(perfect(t, target), objects(t, task, target)))
			require.NoError(t, j.add(nil, objects(t, task, data.Target{})), "a background without detections")
			path, err := pathOf("e2e", j, []string{"ship", "plane"})
			require.NoError(t, err)
			for _, name := range names {
				require.InDelta(t, 1, figure(t, path, name), 1e-12, name)
			}
			shapes := map[string][]Figure{"segment": {{"segm_ap", 1}, {"segm_ap50", 1}}, "pose": {{"oks_ap", 1}, {"oks_ap50", 1}}}[task]
			require.Equal(t, []Class{{"ship", 2, 1, 1, shapes}, {"plane", 1, 1, 1, shapes}}, path.Classes)
			require.Equal(t, [][]int{{2, 0, 0}, {0, 1, 0}, {0, 0, 0}}, path.Confusion)
		})
	}
}

// What is wrong with a detection shows where it should, and nowhere else.
func TestErrorsOfDetectionShow(t *testing.T) {
	judged := func(task string, spoil func([]predict.Instance) []predict.Instance) Path {
		target := labels(task)
		j, err := newJudge(task, 2, 2)
		require.NoError(t, err)
		require.NoError(t, j.add(spoil(perfect(t, target)), objects(t, task, target)))
		path, err := pathOf("nms", j, []string{"ship", "plane"})
		require.NoError(t, err)
		return path
	}
	wrongClass := judged("detect", func(found []predict.Instance) []predict.Instance { found[1].Class = 0; return found })
	require.Equal(t, [][]int{{2, 1, 0}, {0, 0, 0}, {0, 0, 0}}, wrongClass.Confusion)
	require.Zero(t, wrongClass.Classes[1].AP)

	missed := judged("detect", func(found []predict.Instance) []predict.Instance { return found[:2] })
	require.InDelta(t, 51.0/101, missed.Classes[0].AP, 1e-12)
	require.Equal(t, [][]int{{1, 0, 0}, {0, 1, 0}, {1, 0, 0}}, missed.Confusion)

	shifted := judged("pose", func(found []predict.Instance) []predict.Instance {
		for i := range found {
			found[i].Keypoints = []geometry.Point{{X: 500}, {X: 500}}
		}
		return found
	})
	require.InDelta(t, 1, figure(t, shifted, "map"), 1e-12)
	require.Zero(t, figure(t, shifted, "oks_map"))
	require.Equal(t, Class{"ship", 2, 1, 1, []Figure{{"oks_ap", 0}, {"oks_ap50", 0}}}, shifted.Classes[0])
	var text bytes.Buffer
	require.NoError(t, (&Report{Task: "pose", Paths: []Path{shifted}}).WriteText(&text))
	require.Contains(t, text.String(), "  class instances      ap    ap50    oks_ap  oks_ap50\n  ship          2  1.0000  1.0000    0.0000    0.0000\n")

	unmasked := judged("segment", func(found []predict.Instance) []predict.Instance {
		found[0].Mask = found[1].Mask
		return found
	})
	require.InDelta(t, 1, figure(t, unmasked, "map"), 1e-12)
	require.Less(t, figure(t, unmasked, "segm_map"), 0.9)

	turned := judged("obb", func(found []predict.Instance) []predict.Instance {
		for i := range found {
			box := *found[i].Rotated
			box.Angle, box.Height = box.Angle+0.7, box.Height/2
			found[i].Rotated = &box
		}
		return found
	})
	require.Zero(t, figure(t, turned, "map_75"))
}

func TestReportIsWritten(t *testing.T) {
	target := labels("detect")
	j, err := newJudge("detect", 3, 0)
	require.NoError(t, err)
	require.NoError(t, j.add(perfect(t, target)[:2], objects(t, "detect", target)))
	path, err := pathOf("e2e", j, []string{"ship", "plane", "never seen"})
	require.NoError(t, err)
	report := &Report{Task: "detect", Split: "val", Images: 1, Instances: 3, Notes: []string{"hear, hear"}, Paths: []Path{path}}
	var text bytes.Buffer
	require.NoError(t, report.WriteText(&text))
	require.Contains(t, text.String(), "detect on val: 1 images, 3 instances\nnote: hear, hear\n")
	require.Contains(t, text.String(), "\n  ship               2  0.5050  0.5050\n")
	require.NotContains(t, text.String(), "never seen ")

	directory := t.TempDir()
	require.NoError(t, report.save(directory))
	written, err := os.ReadFile(filepath.Join(directory, ReportName))
	require.NoError(t, err)
	var read Report
	require.NoError(t, json.Unmarshal(written, &read))
	require.Equal(t, report.Paths[0].Classes, read.Paths[0].Classes)
	for _, name := range []string{"e2e-precision-recall.png", "e2e-confusion.png"} {
		drawn, err := data.ReadRaster(filepath.Join(directory, name))
		require.NoError(t, err)
		require.Greater(t, drawn.Width, 300)
	}
	require.Error(t, report.save(filepath.Join(directory, "none")))
}

package golden

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// setting is that of the reference trajectories of a task.
func setting(task string) *Setting {
	s := &Setting{
		Task: task, Scale: "t", Seed: 21, Classes: 5, Height: 96, Width: 128, Epochs: 3, Batches: []int{2, 2, 2, 1},
		EmptySteps: []int{5}, EmptyImages: [][2]int{{2, 1}}, OptimizerSteps: 12,
	}
	switch task {
	case "obb":
		s.Classes, s.Height, s.Width, s.UncoveredSteps = 6, 128, 96, []int{9}
	case "segment":
		s.Classes = 4
	case "pose":
		s.Classes, s.Keypoints, s.InvisibleSteps = 2, 17, []int{8}
	}
	return s
}

// The first objects of the reference trajectories.
func TestTargetMatchesReferences(t *testing.T) {
	first := setting("detect").Target(0, 0)
	require.True(t, first.Equal(Target{Labels: []int{4}, Boxes: [][4]float64{{70.53125, 66.71875, 73.53125, 86.59375}}}), "%v", first)

	segment := setting("segment").Target(0, 0)
	require.Equal(t, []int{3}, segment.Labels)
	require.Equal(t, [][][2]float64{{{70.96875, 66.71875}, {73.53125, 71.59375}, {72.53125, 86.59375}, {70.53125, 80.15625}}}, segment.Polygons)

	pose := setting("pose").Target(0, 0)
	require.Equal(t, [2]float64{73.46875, 75.53125}, pose.Keypoints[0][0])
	require.Equal(t, [2]float64{70.71875, 81.03125}, pose.Keypoints[0][16])
	require.Equal(t, []int{0, 1, 2, 0, 1, 1, 1, 0, 2, 2, 2, 1, 2, 2, 2, 2, 1}, pose.Visibility[0])

	obb := setting("obb").Target(0, 0)
	require.Equal(t, [][5]float64{{53.96875, 104.65625, 20, 3, 0.689453125}}, obb.RBoxes)
	require.Equal(t, [][4]float64{{45.28125, 97.15625, 62.65625, 112.15625}}, obb.Boxes)
}

func TestTargetExceptions(t *testing.T) {
	require.Empty(t, setting("detect").Target(2, 1).Labels)
	require.NotEmpty(t, setting("detect").Target(2, 0).Labels)
	require.Empty(t, setting("detect").Target(5, 0).Boxes)
	require.NotNil(t, setting("detect").Target(5, 0).Boxes)
	for _, v := range setting("pose").Target(8, 0).Visibility {
		require.Equal(t, make([]int, 17), v)
	}
	for image := range 2 {
		require.Equal(t, [][5]float64{uncovered}, setting("obb").Target(9, image).RBoxes)
	}
}

// What the rule promises of every object.
func TestTargetProperties(t *testing.T) {
	for _, task := range []string{"detect", "segment", "pose", "obb"} {
		s := setting(task)
		for step := range 200 {
			target := s.Target(step, 0)
			for j, box := range target.Boxes {
				require.Less(t, target.Labels[j], s.Classes)
				for _, v := range box {
					require.Equal(t, 1.0, float64(int(v*32)&1), "an edge lies on an odd multiple of 1/32 px")
				}
				if task == "obb" {
					r := target.RBoxes[j]
					require.Greater(t, r[2], r[3])
					require.True(t, r[4] >= -math.Pi/4 && r[4] < 3*math.Pi/4)
					continue
				}
				require.True(t, box[0] > 0 && box[1] > 0 && box[2] < float64(s.Width) && box[3] < float64(s.Height))
				var points [][2]float64
				if task == "segment" {
					points = target.Polygons[j]
					require.Len(t, points, 4)
				} else if task == "pose" {
					points = target.Keypoints[j]
					require.Len(t, points, 17)
				}
				for _, p := range points {
					require.True(t, p[0] >= box[0] && p[0] <= box[2] && p[1] >= box[1] && p[1] <= box[3])
				}
			}
		}
	}
}

func TestTargetEqual(t *testing.T) {
	for _, task := range []string{"segment", "pose", "obb"} {
		base := setting(task).Target(0, 0)
		require.True(t, base.Equal(setting(task).Target(0, 0)))
		for i, change := range []func(*Target){
			func(t *Target) { t.Labels = append(t.Labels, 0) },
			func(t *Target) { t.Boxes[0][0]++ },
			func(t *Target) {
				switch {
				case t.Polygons != nil:
					t.Polygons[0][0][0]++
				case t.Keypoints != nil:
					t.Visibility[0][0]++
				default:
					t.RBoxes[0][4]++
				}
			},
		} {
			other := setting(task).Target(0, 0)
			change(&other)
			require.False(t, base.Equal(other), "%s, change %d", task, i)
		}
	}
}

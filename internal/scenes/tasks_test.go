package scenes

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/geometry"
)

func openTask(t *testing.T, directory, task string) *data.Dataset {
	t.Helper()
	config, err := data.ReadConfig(filepath.Join(directory, "data.yaml"))
	require.NoError(t, err)
	format, err := config.Rows(task)
	require.NoError(t, err)
	dataset, err := data.Open(context.Background(), config, "train", data.Options{Format: format})
	require.NoError(t, err)
	if task == "pose" {
		require.Equal(t, KeypointFlip, config.Schema.FlipOrder)
	}
	return dataset
}

func TestScenesOfEveryTaskAreReadBack(t *testing.T) {
	options := Options{Size: 96, Objects: 6, Seed: 7}
	folder := Folder{Train: 12, Val: 1}
	for task, write := range map[string]func(string, Folder, Options) error{
		"detect": WriteDetect, "segment": WriteSegment, "pose": WritePose,
	} {
		t.Run(task, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "set")
			require.NoError(t, write(directory, folder, options))
			drawn := options
			drawn.PlanesOnly = task == "pose"
			hidden := 0
			for index, item := range openTask(t, directory, task).Items {
				scene, err := Draw(drawn, index)
				require.NoError(t, err)
				require.Equal(t, len(scene.Objects), item.Target.Len())
				for i, object := range scene.Objects {
					want, got := geometry.Envelope(object.Outline), item.Target.Boxes[i]
					require.InDeltaSlice(t, []float64{want.X1, want.Y1, want.X2, want.Y2}, []float64{got.X1, got.Y1, got.X2, got.Y2}, 1e-3)
					require.Equal(t, object.Class, item.Target.Labels[i])
					if task == "segment" {
						require.Len(t, item.Target.Polygons[i], len(object.Outline))
					}
					if task == "pose" {
						for n, p := range object.Keypoints {
							inside := p.X >= 0 && p.Y >= 0 && p.X <= 96 && p.Y <= 96
							require.Equal(t, inside, item.Target.Visibility[i][n] == 2)
							if !inside {
								hidden++
								continue
							}
							require.InDelta(t, p.X, item.Target.Keypoints[i][n].X, 1e-3)
						}
					}
				}
			}
			require.Equal(t, task == "pose", hidden > 0)
		})
	}
}

// The outline of a shape is the union of its parts, to the pixel of a fine grid
// but for rounding at borders.
func TestOutlinesAreTheUnionOfTheParts(t *testing.T) {
	const side = 600
	onGrid := func(points []geometry.Point) []geometry.Point {
		scaled := make([]geometry.Point, len(points))
		for i, p := range points {
			scaled[i] = geometry.Point{X: (p.X + 0.5) * side, Y: (p.Y + 0.5) * side}
		}
		return scaled
	}
	for _, shape := range shapes {
		union := mask.New(side, side)
		for _, part := range shape.parts {
			require.NoError(t, union.Add(mask.Rasterise(onGrid(part.points), side, side)))
		}
		outline := mask.Rasterise(onGrid(shape.outline), side, side)
		common, err := union.Intersection(outline)
		require.NoError(t, err)
		iou := float64(common) / float64(union.Area()+outline.Area()-common)
		require.Greater(t, iou, 0.99, shape.name)
	}
}

func TestKeypointsAreOnThePlane(t *testing.T) {
	plane := shapes[0]
	require.Len(t, plane.keypoints, len(KeypointNames))
	for i, p := range plane.keypoints {
		mirrored := plane.keypoints[KeypointFlip[i]]
		require.Equal(t, p, geometry.Point{X: mirrored.X, Y: -mirrored.Y}, KeypointNames[i])
	}
}

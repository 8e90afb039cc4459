package scenes

import (
	"context"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// readTree returns the bytes of every file under directory by relative path.
func readTree(t *testing.T, directory string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(directory, path)
		files[name] = string(text)
		return err
	}))
	return files
}

func TestWriteOrientedIsReadBack(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "set")
	options := Options{Size: 96, Objects: 6, Seed: 7}
	require.NoError(t, WriteOriented(directory, Folder{Train: 12, Val: 4}, options))
	config, err := data.ReadConfig(filepath.Join(directory, "data.yaml"))
	require.NoError(t, err)
	require.Equal(t, []string{"plane", "ship", "vehicle", "court"}, config.Names)
	index := 0
	for _, split := range []string{"train", "val"} {
		dataset, err := data.Open(context.Background(), config, split, data.Options{Format: data.OrientedRows})
		require.NoError(t, err)
		for _, item := range dataset.Items {
			scene, err := Draw(options, index)
			require.NoError(t, err)
			require.Equal(t, []int{96, 96}, []int{item.Width, item.Height})
			require.Len(t, item.Target.Rotated, len(scene.Objects))
			for i, object := range scene.Objects {
				require.Equal(t, object.Class, item.Target.Labels[i])
				require.InDelta(t, 1, geometry.RotatedIoU(object.Box, item.Target.Rotated[i]), 1e-3)
			}
			index++
		}
	}
	require.Equal(t, 16, index)
}

func TestWriteOrientedIsDeterministic(t *testing.T) {
	first, second, other := t.TempDir(), t.TempDir(), t.TempDir()
	options := Options{Size: 64, Objects: 4, Seed: 1}
	require.NoError(t, WriteOriented(first, Folder{Train: 3, Val: 1}, options))
	require.NoError(t, WriteOriented(second, Folder{Train: 3, Val: 1}, options))
	require.Equal(t, readTree(t, first), readTree(t, second))
	require.Len(t, readTree(t, first), 9)

	options.Seed = 2
	require.NoError(t, WriteOriented(other, Folder{Train: 3, Val: 1}, options))
	require.NotEqual(t, readTree(t, first), readTree(t, other))
}

func TestScenesHoldWhatTrainingNeeds(t *testing.T) {
	options := Options{Size: 128, Objects: 8, Seed: 3}
	backgrounds, outside := 0, 0
	counts := make([]int, len(Classes))
	for index := range 60 {
		scene, err := Draw(options, index)
		require.NoError(t, err)
		if len(scene.Objects) == 0 {
			backgrounds++
		}
		for i, object := range scene.Objects {
			counts[object.Class]++
			require.Equal(t, object.Box.Canonical(), object.Box)
			envelope := object.Box.Envelope()
			if envelope.X1 < 0 || envelope.Y1 < 0 || envelope.X2 > 128 || envelope.Y2 > 128 {
				outside++
			}
			for _, other := range scene.Objects[:i] {
				require.Zero(t, geometry.RotatedIoU(object.Box, other.Box))
			}
		}
	}
	require.Positive(t, backgrounds)
	require.Positive(t, outside, "some boxes stick out, as in real tiles")
	for class, count := range counts {
		require.Greater(t, count, 10, Classes[class])
	}
}

// The label must be the tight box of what is drawn, or training on scenes would
// teach a bias.
func TestShapesFillTheirFrames(t *testing.T) {
	for _, shape := range shapes {
		var points []geometry.Point
		for _, part := range shape.parts {
			points = append(points, part.points...)
		}
		require.Equal(t, geometry.Box{X1: -0.5, Y1: -0.5, X2: 0.5, Y2: 0.5}, geometry.Envelope(points), shape.name)
	}
}

func TestObjectIsDrawnInsideItsBox(t *testing.T) {
	for class := range shapes {
		p := placement{class: class, centerX: 40, centerY: 36, length: 40, width: 20, heading: 2.2}
		drawn := 0
		for _, part := range shapes[class].parts {
			for _, point := range p.points(part.points, 0) {
				box := p.box()
				box.Width, box.Height = box.Width+1e-9, box.Height+1e-9
				require.True(t, box.Contains(point.X, point.Y))
				drawn++
			}
		}
		require.Positive(t, drawn)
	}
}

// Objects are drawn where their labels say and nowhere else.
func TestObjectsAreDrawn(t *testing.T) {
	options := Options{Size: 96, Objects: 4, Seed: 11}
	drawn := 0
	for index := range 6 {
		scene, err := Draw(options, index)
		require.NoError(t, err)
		bare := ground(rand.New(rand.NewPCG(options.Seed, uint64(index))), options.Size)
		changed, inside := 0, 0
		for y := range options.Size {
			for x := range options.Size {
				in, near := false, false
				for _, object := range scene.Objects {
					in = in || object.Box.Contains(float64(x), float64(y))
					wide := object.Box
					wide.Width, wide.Height = wide.Width+8, wide.Height+8
					near = near || wide.Contains(float64(x), float64(y))
				}
				differs := bare.RGBAAt(x, y) != scene.Image.RGBAAt(x, y)
				require.False(t, differs && !near, "picture %d differs from its ground at %d, %d", index, x, y)
				if in {
					inside++
				}
				if in && differs {
					changed++
				}
			}
		}
		require.GreaterOrEqual(t, changed, inside/3)
		drawn += changed
	}
	require.Greater(t, drawn, 500)
}

// The ground has grain on every pixel, without which networks learn the smooth.
func TestGroundHasGrain(t *testing.T) {
	canvas := ground(rand.New(rand.NewPCG(1, 1)), 96)
	sum := 0.0
	for y := range 96 {
		for x := 1; x < 95; x++ {
			sum += math.Abs(float64(canvas.RGBAAt(x-1, y).G) - 2*float64(canvas.RGBAAt(x, y).G) + float64(canvas.RGBAAt(x+1, y).G))
		}
	}
	require.Greater(t, sum/(96*94), 4.5)
}

func TestOptionsAreChecked(t *testing.T) {
	directory := t.TempDir()
	good := Options{Size: 32, Objects: 1}
	cases := []struct {
		folder  Folder
		options Options
		want    string
	}{
		{Folder{0, 1}, good, "scenes: 0 train and 1 val pictures; give at least 1 of each"},
		{Folder{1, 1}, Options{Size: 31, Objects: 1}, "scenes: size 31; give at least 32 pixels"},
		{Folder{1, 1}, Options{Size: 32}, "scenes: 0 objects; give at least 1"},
	}
	for _, c := range cases {
		require.ErrorContains(t, WriteOriented(directory, c.folder, c.options), c.want)
	}
	require.NoError(t, WriteOriented(directory, Folder{1, 1}, good))
	require.ErrorContains(t, WriteOriented(directory, Folder{1, 1}, good), "is not empty; give a new directory")

	file := filepath.Join(directory, "data.yaml")
	err := WriteOriented(filepath.Join(file, "set"), Folder{1, 1}, good)
	require.ErrorContains(t, err, "give a directory that can be written")
	require.Equal(t, 1, strings.Count(err.Error(), ";"))
}

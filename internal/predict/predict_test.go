package predict

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/networks"
	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/scenes"
	"github.com/reprise-ml/reprise/runtime/device"
)

// side is the input of the test networks in pixels: 8*8 + 4*4 + 2*2 anchors.
const side, anchors = 64, 84

// trained fits the test scale of a task for a few steps on scenes and gives the
// scenes and the checkpoint.
func trained(t *testing.T, task string, more ...string) (set, weights string) {
	t.Helper()
	root := t.TempDir()
	set = filepath.Join(root, "set")
	write := map[string]func(string, scenes.Folder, scenes.Options) error{
		"detect": scenes.WriteDetect, "obb": scenes.WriteOriented, "segment": scenes.WriteSegment, "pose": scenes.WritePose,
	}[task]
	require.NoError(t, write(set, scenes.Folder{Train: 4, Val: 2}, scenes.Options{Size: 96, Objects: 3, Seed: 3}))
	described, err := data.ReadConfig(filepath.Join(set, "data.yaml"))
	require.NoError(t, err)
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.Register(flags)
	arguments := []string{"--task=" + task, "--model.scale=t", "--data.img_size=64", "--data.batch_size=2", "--trainer.max_epochs=1",
		"--optim.warmup_epochs=0", "--run.dir=" + filepath.Join(root, "run"), "--model.classes=4"}
	if task == "pose" {
		arguments = append(arguments, "--model.keypoints=5", "--model.classes=1")
	}
	require.NoError(t, flags.Parse(append(arguments, more...)))
	settings, err := config.Load("", flags)
	require.NoError(t, err)
	want := networks.Want{Task: task, Scale: "t", Classes: len(described.Names), Keypoints: settings.Model.Keypoints}
	plans, err := networks.Find(want)
	require.NoError(t, err)
	network := run.Network{Task: task, Scale: "t", Classes: want.Classes, Keypoints: want.Keypoints, Plans: plans}
	_, err = run.Fit(context.Background(), run.Request{Settings: settings, Network: network, DataFile: described.File})
	require.NoError(t, err)
	return set, filepath.Join(root, "run", "last.safetensors")
}

func openHost(t *testing.T) device.Device {
	t.Helper()
	dev, err := run.OpenDevice("host")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

func TestEveryTaskPredicts(t *testing.T) {
	for _, task := range []string{"detect", "obb", "segment", "pose"} {
		t.Run(task, func(t *testing.T) {
			set, weights := trained(t, task)
			out := filepath.Join(t.TempDir(), "out")
			request := Request{Weights: weights, Source: filepath.Join(set, "images", "val"), Dir: out}
			results, err := Run(context.Background(), openHost(t), request)
			require.NoError(t, err)
			require.Len(t, results, 2)
			for _, result := range results {
				require.FileExists(t, result.Picture)
				require.Equal(t, []int{96, 96}, []int{result.Width, result.Height})
				require.Len(t, result.Instances, anchors, "every anchor has a score above 0")
				last := 1.0
				for _, found := range result.Instances {
					require.LessOrEqual(t, found.Score, last)
					last = found.Score
					require.Equal(t, task == "obb", found.Rotated != nil)
					require.Equal(t, task == "segment", found.Mask != nil)
					require.Equal(t, task == "pose", len(found.Keypoints) == 5)
					require.Equal(t, scenes.Classes[found.Class], found.Name)
				}
			}
			again, err := Run(context.Background(), openHost(t), request)
			require.NoError(t, err)
			require.Equal(t, results, again)
		})
	}
}

// A fit in float64 predicts too: its weights are rounded to single precision, and
// what it finds is what its own fit in single precision nearly finds.
func TestDoublePrecisionPredicts(t *testing.T) {
	set, weights := trained(t, "detect", "--trainer.precision=float64")
	stored, err := checkpoint.Load(weights)
	require.NoError(t, err)
	_, err = checkpoint.FloatTensors[float32](stored.EMA)
	require.ErrorContains(t, err, "stored as F64")
	_, single := trained(t, "detect")
	request := Request{Weights: weights, Source: filepath.Join(set, "images/val/scene00004.png"), Dir: t.TempDir()}
	double, err := Run(context.Background(), openHost(t), request)
	require.NoError(t, err)
	request.Weights = single
	other, err := Run(context.Background(), openHost(t), request)
	require.NoError(t, err)
	require.InDelta(t, other[0].Instances[0].Score, double[0].Instances[0].Score, 1e-3)
	require.NotEqual(t, other[0].Instances[0].Score, double[0].Instances[0].Score)
}

func TestPredictChoices(t *testing.T) {
	set, weights := trained(t, "detect")
	dev := openHost(t)
	request := Request{Weights: weights, Source: filepath.Join(set, "images/val/scene00004.png"), Dir: t.TempDir()}
	all, err := Run(context.Background(), dev, request)
	require.NoError(t, err)
	require.Len(t, all, 1)

	// The threshold keeps the rows whose score is at least it.
	request.Threshold = all[0].Instances[9].Score
	some, err := Run(context.Background(), dev, request)
	require.NoError(t, err)
	require.Equal(t, all[0].Instances[:len(some[0].Instances)], some[0].Instances)
	require.GreaterOrEqual(t, len(some[0].Instances), 10)
	require.Less(t, len(some[0].Instances), anchors)

	// Raw weights are others than their average.
	request.Threshold, request.Raw = 0, true
	raw, err := Run(context.Background(), dev, request)
	require.NoError(t, err)
	require.NotEqual(t, all[0].Instances[0].Score, raw[0].Instances[0].Score)
}

// The boxes are in pixels of the image: a grey border added below a wide image is
// what its letterbox adds, so what is found stays where it was.
func TestBoxesAreInPixelsOfTheImage(t *testing.T) {
	_, weights := trained(t, "detect")
	model, err := Open(openHost(t), weights, false)
	require.NoError(t, err)
	defer model.Close()
	square := &data.Raster{Width: side, Height: side, Pixels: make([]uint8, 3*side*side)}
	for i := range square.Pixels {
		square.Pixels[i] = 114
		if row := i / (3 * side); row >= 16 && row < 48 {
			square.Pixels[i] = uint8(i * 31)
		}
	}
	wide := &data.Raster{Width: side, Height: 32, Pixels: square.Pixels[3*side*16 : 3*side*48]}
	inSquare, err := model.Image(square, 0)
	require.NoError(t, err)
	inWide, err := model.Image(wide, 0)
	require.NoError(t, err)
	require.Len(t, inWide, anchors)
	for i := range inSquare {
		inSquare[i].Box.Y1 -= 16
		inSquare[i].Box.Y2 -= 16
		require.Equal(t, inSquare[i], inWide[i])
	}
}

func TestPredictRefuses(t *testing.T) {
	dev := openHost(t)
	directory := t.TempDir()
	file := filepath.Join(directory, "x.txt")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o644))
	for want, request := range map[string]Request{
		"-source: stat": {Source: filepath.Join(directory, "none")},
		"has no .jpg, .jpeg or .png files; give an im": {Source: directory},
		"-conf is 2; give a score from 0 to 1":         {Source: file, Threshold: 2},
		"x.txt: ":                                      {Source: file, Weights: file, Dir: directory},
	} {
		_, err := Run(context.Background(), dev, request)
		require.ErrorContains(t, err, want)
	}
}

func TestRunsReadBack(t *testing.T) {
	m := mask.New(5, 4)
	for _, p := range [][2]int{{0, 0}, {1, 0}, {3, 2}, {3, 4}} {
		m.Set(p[0], p[1])
	}
	runs := runsOf(m)
	require.Equal(t, [2]int{4, 5}, runs.Size)
	require.Equal(t, 0, runs.Counts[0], "the first pixel is set")
	read, err := mask.FromRuns(runs.Counts, 5, 4)
	require.NoError(t, err)
	require.Equal(t, m, read)
	require.Equal(t, []int{20}, runsOf(mask.New(5, 4)).Counts)
}

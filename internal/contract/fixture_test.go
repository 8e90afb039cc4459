package contract_test

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/internal/catalog"
	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/inspect"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// The fits train a network with every block of the family at the smallest
// widths, on seven pictures in the order of the files: a usual batch of two, one
// without objects, one whose keypoints are all invisible, and a last short batch
// of one.
const (
	imageSize = 64
	batchSize = 2
	batches   = 4
	classes   = 3
	keypoints = 4
)

var smallest = yolo26.Scale{Name: "t", Depth: 0.5, Width: 1.0 / 32, Cap: 1024}

var tasks = []string{"detect", "obb", "pose", "segment"}

// stagesOf lists the stages of a task in order.
var stagesOf = map[string][]string{
	"detect": {"network"}, "obb": {"network"}, "pose": {"features", "head"},
	"segment": {"features", "head", "coefficients", "fusion", "prototypes", "semantic"},
}

// writeDataset writes pictures of noise with label rows of a task.
func writeDataset(t *testing.T, task string) string {
	t.Helper()
	folder := t.TempDir()
	random := rand.New(rand.NewPCG(17, 4))
	for split, count := range map[string]int{"train": 7, "val": 3} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "images", split), 0o755))
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "labels", split), 0o755))
		for i := range count {
			picture := image.NewRGBA(image.Rect(0, 0, imageSize, imageSize))
			for p := range imageSize * imageSize {
				picture.SetRGBA(p%imageSize, p/imageSize, color.RGBA{uint8(random.UintN(256)), uint8(random.UintN(256)), uint8(p), 255})
			}
			file, err := os.Create(filepath.Join(folder, "images", split, fmt.Sprintf("%d.png", i)))
			require.NoError(t, err)
			require.NoError(t, png.Encode(file, picture))
			require.NoError(t, file.Close())
			rows := ""
			for range 1 + random.IntN(3) {
				rows += row(random, task, split == "train" && (i == 4 || i == 5))
			}
			if split == "train" && (i == 2 || i == 3) {
				rows = ""
			}
			require.NoError(t, os.WriteFile(filepath.Join(folder, "labels", split, fmt.Sprintf("%d.txt", i)), []byte(rows), 0o644))
		}
	}
	text := fmt.Sprintf("path: .\ntrain: images/train\nval: images/val\nnames: [a, b, c]\nkpt_shape: [%d, 3]\n", keypoints)
	if task != "pose" {
		text = strings.SplitAfter(text, "c]\n")[0]
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "data.yaml"), []byte(text), 0o644))
	return filepath.Join(folder, "data.yaml")
}

// row is one label row: an object of 12 to 38 px inside the picture.
func row(random *rand.Rand, task string, invisible bool) string {
	w, h := 0.2+0.4*random.Float64(), 0.2+0.4*random.Float64()
	x, y := w/2+(1-w)*random.Float64(), h/2+(1-h)*random.Float64()
	class := random.IntN(classes)
	box := fmt.Sprintf("%d %.6f %.6f %.6f %.6f", class, x, y, w, h)
	corners := fmt.Sprintf("%d %.6f %.6f %.6f %.6f %.6f %.6f %.6f %.6f", class, x-w/2, y, x, y-h/2, x+w/2, y, x, y+h/2)
	switch task {
	case "obb", "segment":
		return corners + "\n"
	case "pose":
		for k := range keypoints {
			visibility := (k + class) % 3
			if invisible {
				visibility = 0
			}
			box += fmt.Sprintf(" %.6f %.6f %d", x+w*(random.Float64()-0.5), y+h*(random.Float64()-0.5), visibility)
		}
	}
	return box + "\n"
}

// fixture is one fit and what it left behind.
type fixture struct {
	*testing.T
	dev device.Device
	fit *trainer.Fit[float32]
	log strings.Builder

	after      func(step int) // called after every micro-batch, counted from 1
	steps      int
	validation [][]trainer.Term
}

func (f *fixture) Begin(int, int) {}

func (f *fixture) Step(int, float64) {
	f.steps++
	if f.after != nil {
		f.after(f.steps)
	}
}

func (f *fixture) End(_ int, figures []trainer.Term) { f.validation = append(f.validation, figures) }

// request describes a fit.
type request struct {
	task      string
	data      string
	capture   []trainer.CaptureOption
	change    func(*trainer.Options)
	objective func(trainer.Objective[float32]) trainer.Objective[float32]
	device    device.Device
	unjudged  bool // without validation
}

func (r request) begin(t *testing.T) *fixture {
	t.Helper()
	f, err := r.open(t)
	require.NoError(t, err)
	return f
}

func (r request) open(t *testing.T) (*fixture, error) {
	t.Helper()
	settings, err := config.Defaults(r.task)
	require.NoError(t, err)
	settings.Model.Classes, settings.Model.Keypoints = classes, keypoints
	settings.Trainer.MaxEpochs, settings.Optim.WarmupEpochs = 3, 1
	settings.Data.BatchSize, settings.Run.Dir = batchSize, ""
	task, err := catalog.Task[float32](settings, plansOf(t, r.task))
	require.NoError(t, err)
	if r.objective != nil {
		task.Objective = r.objective(task.Objective)
	}
	f := &fixture{T: t, dev: r.device}
	if f.dev == nil {
		f.dev = host.Open(host.Options{})
	}
	options := trainer.OptionsOf(settings)
	options.Optimizer.NSSteps = 2 // the orthogonalisation has tests of its own
	options.Progress, options.Log = f, &f.log
	options.Record(r.capture...)
	if r.change != nil {
		r.change(&options)
	}
	d := loaders(t, r.data, r.task)
	if r.unjudged {
		d.Validation = nil
	}
	f.fit, err = trainer.New(f.dev, task, d, options)
	return f, err
}

// plans holds the plans of every task, which fits only read.
var plans sync.Map

func plansOf(t *testing.T, task string) []*ir.Stage {
	t.Helper()
	if made, found := plans.Load(task); found {
		return made.([]*ir.Stage)
	}
	network, err := inspect.FindNetwork(task)
	require.NoError(t, err)
	var made []*ir.Stage
	for _, d := range network.Define(inspect.Model{Scale: smallest, Classes: classes, Keypoints: keypoints}) {
		defined, err := d.Build()
		require.NoError(t, err)
		plan, err := pass.Run(defined, nil)
		require.NoError(t, err)
		made = append(made, plan)
	}
	plans.Store(task, made)
	return made
}

func loaders(t *testing.T, file, task string) trainer.Data {
	t.Helper()
	described, err := data.ReadConfig(file)
	require.NoError(t, err)
	format, err := described.Rows(task)
	require.NoError(t, err)
	loader := func(split string) *data.Loader {
		set, err := data.Open(context.Background(), described, split, data.Options{Format: format})
		require.NoError(t, err)
		l, err := data.NewLoader(set, data.ValidationPipeline(imageSize), data.LoaderOptions{
			BatchSize: batchSize, Width: imageSize, Height: imageSize, Workers: 2, Masks: task == "segment",
		})
		require.NoError(t, err)
		return l
	}
	return trainer.Data{Train: loader("train"), Validation: loader("val")}
}

// outcome is everything that recording must not change.
type outcome struct {
	Hashes     checkpoint.Hashes
	Losses     []float64
	Validation [][]trainer.Term
}

func (f *fixture) outcome() outcome {
	f.Helper()
	hashes, err := f.fit.Hashes()
	require.NoError(f, err)
	return outcome{hashes, append([]float64(nil), f.fit.Losses()...), f.validation}
}

// run runs a fit to its end, closes it and gives what it left.
func (r request) run(t *testing.T) (*fixture, outcome) {
	t.Helper()
	f := r.begin(t)
	require.NoError(t, f.fit.Run(context.Background()))
	out := f.outcome()
	f.close()
	return f, out
}

// close ends the fit and checks that nothing of it is left on the device.
func (f *fixture) close() {
	f.Helper()
	require.NoError(f, f.fit.Close())
	require.Zero(f, f.dev.Counters().Recordings)
	require.Zero(f, f.dev.Counters().Bytes)
}

func (f *fixture) stage(name string) *replay.Stage {
	f.Helper()
	for _, s := range f.fit.Stages() {
		if s.Plan().Name == name {
			return s
		}
	}
	require.FailNow(f, "no stage "+name)
	return nil
}

// report gives the report of a stage.
func (f *fixture) report(name string) replay.StageReport {
	f.Helper()
	for _, s := range f.fit.Report().Stages {
		if s.Name == name {
			return s
		}
	}
	require.FailNow(f, "no stage "+name)
	return replay.StageReport{}
}

// native counts the native calls of a stage by reason, evaluation aside.
func (f *fixture) native(name string) map[string]int {
	out := map[string]int{}
	for _, r := range f.report(name).Reasons {
		if r.Guard != "G9" {
			out[r.Guard+" "+r.Text] += r.Calls
		}
	}
	return out
}

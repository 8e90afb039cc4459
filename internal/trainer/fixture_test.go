package trainer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/reprise-ml/reprise/internal/optim"
	"github.com/reprise-ml/reprise/internal/scenes"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
	"github.com/reprise-ml/reprise/tasks/obb"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// The fits of these tests train the oriented test scale on seven scenes of
// 64 x 64 px, in the order of the files: a usual batch of two, one without
// objects, one whose objects no anchor centre falls into, and a last short
// batch of one.
const (
	imageSize = 64
	batchSize = 2
	trained   = 7
	batches   = 4
)

// uncovered is a rotated box between the anchor centres of all strides.
const uncovered = "1 0.551 0.624 0.440 0.520 0.449 0.376 0.560 0.480\n"

// dataFile describes the data set of the fits; TestMain draws it.
var dataFile string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "scenes")
	if err == nil {
		err = writeScenes(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dataFile = filepath.Join(folder, "data.yaml")
	code := m.Run()
	if err := os.RemoveAll(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func writeScenes(folder string) error {
	if err := scenes.WriteOriented(folder, scenes.Folder{Train: trained, Val: 1}, scenes.Options{Size: imageSize, Objects: 3, Seed: 5}); err != nil {
		return err
	}
	for image, rows := range map[int]string{2: "", 3: "", 4: uncovered, 5: uncovered} {
		file := filepath.Join(folder, "labels", "train", fmt.Sprintf("scene%05d.txt", image))
		if err := os.WriteFile(file, []byte(rows), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// settings are those of a fit of two epochs, changed as a test says.
func settings(t *testing.T, change func(*config.Settings)) *config.Settings {
	t.Helper()
	s, err := config.Defaults("obb")
	require.NoError(t, err)
	s.Model.Scale, s.Model.Classes = "t", len(scenes.Classes)
	s.Data.ImgSize, s.Data.BatchSize, s.Data.Workers = imageSize, batchSize, 2
	s.Run.Dir = ""
	s.Trainer.MaxEpochs, s.Optim.WarmupEpochs = 2, 1
	s.Optim.NSSteps = 1 // the orthogonalisation takes most of the time and has tests of its own
	if change != nil {
		change(s)
	}
	return s
}

// captured asks for recording beside other changes.
func captured(changes ...func(*config.Settings)) func(*config.Settings) {
	return func(s *config.Settings) {
		s.Model.CaptureNetwork = true
		for _, change := range changes {
			if change != nil {
				change(s)
			}
		}
	}
}

// fixture is one fit and what it left behind.
type fixture[T device.Float] struct {
	*testing.T
	dev device.Device
	fit *trainer.Fit[T]
	log strings.Builder // warnings

	after      func(step int) // called after every micro-batch, counted from 1
	steps      int
	validation [][]trainer.Term
}

// Begin implements trainer.Progress.
func (f *fixture[T]) Begin(int, int) {}

// Step implements trainer.Progress.
func (f *fixture[T]) Step(int, float64) {
	f.steps++
	if f.after != nil {
		f.after(f.steps)
	}
}

// End implements trainer.Progress.
func (f *fixture[T]) End(_ int, figures []trainer.Term) {
	f.validation = append(f.validation, figures)
}

// plan is the network of all fits; running it does not change it.
var plan = sync.OnceValues(func() (*ir.Stage, error) {
	defined, err := obb.Define(yolo26.Test, len(scenes.Classes)).Build()
	if err != nil {
		return nil, err
	}
	return pass.Run(defined, nil)
})

// start describes a fit to open.
type start[T device.Float] struct {
	settings  *config.Settings
	dev       device.Device // nil opens one
	fail      func(event string, n int) error
	stopAfter int
	shuffle   bool
	noVal     bool
	colors    bool   // are changed on the device
	split     string // to train on, "" for train
	scaled    bool   // the loss, as in FP16
	objective func(trainer.Objective[T]) trainer.Objective[T]
}

// open prepares a fit; the error is that of trainer.New.
func (s start[T]) open(t *testing.T) (*fixture[T], error) {
	t.Helper()
	plan, err := plan()
	require.NoError(t, err)
	task, err := catalog.Task[T](s.settings, []*ir.Stage{plan})
	require.NoError(t, err)
	if s.objective != nil {
		task.Objective = s.objective(task.Objective)
	}
	f := &fixture[T]{T: t, dev: s.dev}
	if f.dev == nil {
		f.dev = host.Open(host.Options{Fail: s.fail})
	}
	options := trainer.OptionsOf(s.settings)
	options.Progress, options.Log, options.StopAfter = f, &f.log, s.stopAfter
	if s.scaled {
		scale := optim.DefaultLossScalerOptions()
		options.LossScale = &scale
	}
	f.fit, err = trainer.New(f.dev, task, s.loaders(t), options)
	return f, err
}

func (s start[T]) loaders(t *testing.T) trainer.Data {
	t.Helper()
	described, err := data.ReadConfig(dataFile)
	require.NoError(t, err)
	loader := func(split string, pipeline data.Pipeline, shuffle bool) *data.Loader {
		set, err := data.Open(context.Background(), described, split, data.Options{Format: data.OrientedRows})
		require.NoError(t, err)
		l, err := data.NewLoader(set, pipeline, data.LoaderOptions{
			BatchSize: batchSize, Width: imageSize, Height: imageSize, Workers: 2, Seed: s.settings.Data.Seed, Shuffle: shuffle, DeviceColors: s.colors,
		})
		require.NoError(t, err)
		return l
	}
	pipeline := data.ValidationPipeline(imageSize)
	if s.shuffle {
		pipeline = data.TrainingPipeline(data.Augmentation{Size: imageSize, Mosaic: 1, CloseEpoch: 1, Flip: 0.5, HSV: data.DefaultHSV})
	}
	d := trainer.Data{Train: loader(cmp.Or(s.split, "train"), pipeline, s.shuffle)}
	if !s.noVal {
		d.Validation = loader("val", data.ValidationPipeline(imageSize), false)
	}
	return d
}

// outcome is everything that recording must not change.
type outcome struct {
	Hashes     checkpoint.Hashes
	Losses     []float64
	Validation [][]trainer.Term
}

func (f *fixture[T]) outcome() outcome {
	f.Helper()
	hashes, err := f.fit.Hashes()
	require.NoError(f, err)
	return outcome{hashes, append([]float64(nil), f.fit.Losses()...), f.validation}
}

// close ends the fit and checks that nothing of it is left on the device.
func (f *fixture[T]) close() {
	f.Helper()
	require.NoError(f, f.fit.Close())
	require.Zero(f, f.dev.Counters().Recordings)
	require.Zero(f, f.dev.Counters().Bytes)
}

// report is that of the network's stage.
func (f *fixture[T]) report() replay.StageReport { return f.reportOf("network") }

func (f *fixture[T]) reportOf(name string) replay.StageReport {
	f.Helper()
	stages := f.fit.Report().Stages
	require.Len(f, stages, 2)
	at := slices.IndexFunc(stages, func(s replay.StageReport) bool { return s.Name == name })
	require.GreaterOrEqual(f, at, 0, name)
	return stages[at]
}

// reasons counts the native training steps by guard and text.
func (f *fixture[T]) reasons() map[string]int {
	f.Helper()
	out := map[string]int{}
	for _, r := range f.report().Reasons {
		if r.Guard != "G9" {
			out[r.Guard+" "+r.Text] = r.Calls
		}
	}
	return out
}

// warnings lists what the fit warned of.
func (f *fixture[T]) warnings() []string {
	return strings.Split(strings.TrimSuffix(f.log.String(), "\n"), "\n")
}

// begin opens a fit that must open.
func (s start[T]) begin(t *testing.T) *fixture[T] {
	t.Helper()
	f, err := s.open(t)
	require.NoError(t, err)
	return f
}

// run trains a fit to its end and closes it.
func (s start[T]) run(t *testing.T) (*fixture[T], outcome) {
	t.Helper()
	f := s.begin(t)
	require.NoError(t, f.fit.Run(context.Background()))
	out := f.outcome()
	f.close()
	return f, out
}

// reference is the outcome of the native fit with unchanged settings, and
// referenceFiles are its checkpoint and losses.
func reference(t *testing.T) outcome {
	t.Helper()
	referenceOnce.Do(func() {
		dir := t.TempDir()
		_, referenceOutcome = start[float32]{settings: settings(t, in(dir))}.run(t)
		referenceFiles = files(t, dir)
	})
	return referenceOutcome
}

var (
	referenceOnce    sync.Once
	referenceOutcome outcome
	referenceFiles   [2]string
)

var errInjected = errors.New("injected")

// failAt fails the n-th event of a kind.
func failAt(event string, at int) func(string, int) error {
	return func(e string, n int) error {
		if e == event && n == at {
			return errInjected
		}
		return nil
	}
}

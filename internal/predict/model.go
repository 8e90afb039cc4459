package predict

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/catalog"
	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/networks"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// Model is the network of a checkpoint with its averaged weights, on a device.
type Model struct {
	// Settings are those of the fit that made the checkpoint.
	Settings *config.Settings
	// Labels name what the network detects.
	Labels checkpoint.Labels

	fit     *replay.Fit
	learner *trainer.Learner[float32]
}

// Open reads a checkpoint. Its moving average is what predicts, or with raw the
// weights as they were trained, in single precision: those of a fit in float64 are
// rounded. The device stays
// the caller's.
func Open(dev device.Device, weights string, raw bool) (*Model, error) {
	state, err := checkpoint.Load(weights)
	if err != nil {
		return nil, err
	}
	tensors, err := state.Evaluation(!raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", weights, err)
	}
	m := &Model{Labels: state.Meta.Labels}
	if m.Settings, err = settingsOf(state.Meta); err != nil {
		return nil, fmt.Errorf("%s: %w", weights, err)
	}
	task, err := taskOf(m.Settings)
	if err != nil {
		return nil, err
	}
	options := trainer.OptionsOf(m.Settings)
	if m.fit, err = replay.NewFit(dev, replay.Settings{Precision: device.FP32}); err != nil {
		return nil, err
	}
	rate := options.Rate
	rate.MaxEpochs, rate.BatchesPerEpoch, rate.Accumulate = 1, 1, 1
	if m.learner, err = trainer.NewLearner(m.fit, task, options, rate); err == nil {
		err = m.load(tensors)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", weights, err), m.Close())
	}
	return m, nil
}

// Close releases the network on the device.
func (m *Model) Close() error { return m.fit.Close() }

// taskOf builds the network of the settings and its task.
func taskOf(s *config.Settings) (trainer.Task[float32], error) {
	found, err := networks.Find(networks.Want{Task: s.Task, Scale: s.Model.Scale, Classes: s.Model.Classes, Keypoints: s.Model.Keypoints})
	if err != nil {
		return trainer.Task[float32]{}, err
	}
	var plans []*ir.Stage
	for _, load := range found {
		plan, err := load()
		if err != nil {
			return trainer.Task[float32]{}, err
		}
		plans = append(plans, plan)
	}
	return catalog.Task[float32](s, plans)
}

// settingsOf resolves the settings of a checkpoint. The precision is not needed
// for prediction, and may be one that this device does not have.
func settingsOf(m checkpoint.Meta) (*config.Settings, error) {
	values := map[string]string{}
	for name, text := range m.Configuration {
		values[name] = text
	}
	values["task"], values["model.scale"], values["model.classes"] = m.Task, m.Scale, strconv.Itoa(m.Classes)
	if m.Keypoints > 0 {
		values["model.keypoints"] = strconv.Itoa(m.Keypoints)
	}
	delete(values, "trainer.precision")
	delete(values, "device")
	flags := pflag.NewFlagSet("checkpoint", pflag.ContinueOnError)
	config.Register(flags)
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if flags.Lookup(name) == nil {
			return nil, fmt.Errorf("the checkpoint has a setting %s, which this version does not know; use the version that made it", name)
		}
		if err := flags.Set(name, values[name]); err != nil {
			return nil, err
		}
	}
	return config.Load("", flags)
}

// load copies weights and buffers into the network. Every one must be stored.
func (m *Model) load(tensors []checkpoint.Tensor) error {
	live, err := m.learner.Live()
	if err != nil {
		return err
	}
	entries := make([]checkpoint.Entry[float32], len(live))
	for i, t := range live {
		entries[i] = checkpoint.Entry[float32]{Name: t.Name, Shape: t.Shape, Value: t.Value}
	}
	// Counters do not take part in evaluation and are not among the live.
	floats := slices.DeleteFunc(slices.Clone(tensors), func(t checkpoint.Tensor) bool { return !t.IsFloat() })
	if err := checkpoint.Restore(entries, checkpoint.Rounded[float32](floats)); err != nil {
		return err
	}
	return m.learner.Store()
}

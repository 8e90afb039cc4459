package trainer

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"sort"
	"strings"

	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/optim"
)

// CheckpointName is the file of the latest checkpoint in a run folder.
const CheckpointName = "last.safetensors"

// State is the whole fit between two steps, as checkpoints hold it.
func (f *Fit[T]) State() (*checkpoint.State, error) {
	entries, err := f.learner.memory.entries()
	if err != nil {
		return nil, err
	}
	shadow, counters := f.learner.update.EMA.State()
	s := &checkpoint.State{
		Meta: checkpoint.Meta{
			Task: f.task.Name, Scale: f.task.Scale, Classes: f.task.Classes, Labels: labelsOf(f.data.Train.Dataset()),
			Epoch: f.at.Epoch, Batch: f.at.Batch, Step: f.learner.update.Steps, Pending: f.learner.accumulate.Pending(),
			Schedule:      checkpoint.Schedule{Step: f.learner.update.Steps, Alpha: f.alpha},
			EMA:           &counters,
			Seeds:         checkpoint.Seeds{Trainer: f.options.TrainerSeed, Data: f.options.DataSeed},
			Configuration: f.options.Configuration,
		},
		Model:    checkpoint.Entries(entries),
		EMA:      checkpoint.Floats(shadow),
		Momentum: checkpoint.Floats(f.learner.update.Optimizer.State()),
	}
	if f.learner.update.Steps > 0 {
		s.Meta.Schedule.Rate = f.learner.update.Rate.Rate(f.learner.update.Steps - 1)
	}
	if f.learner.update.Scaler != nil {
		scaler := f.learner.update.Scaler.State()
		s.Meta.Scaler = &scaler
	}
	if f.learner.accumulate.Pending() > 0 {
		open, err := f.learner.memory.optimized()
		if err != nil {
			return nil, err
		}
		for _, p := range open {
			if p.Gradient != nil {
				s.Gradient = append(s.Gradient, checkpoint.Float(p.Name, p.Shape, p.Gradient))
			}
		}
	}
	return s, nil
}

// labelsOf are the names that the data of a fit gives to what it detects.
func labelsOf(set *data.Dataset) checkpoint.Labels {
	return checkpoint.Labels{
		Classes: set.Names, Keypoints: set.Schema.Names, FlipOrder: set.Schema.FlipOrder, Skeleton: set.Schema.Skeleton,
	}
}

// Save writes the latest checkpoint of the run folder, complete or not at all.
func (f *Fit[T]) Save() error {
	if f.options.Dir == "" {
		return nil
	}
	s, err := f.State()
	if err != nil {
		return err
	}
	if err := f.log.flush(); err != nil {
		return err
	}
	return checkpoint.Save(filepath.Join(f.options.Dir, CheckpointName), s)
}

// Hashes identify the fit so far.
func (f *Fit[T]) Hashes() (checkpoint.Hashes, error) {
	s, err := f.State()
	if err != nil {
		return checkpoint.Hashes{}, err
	}
	return checkpoint.Hash(s, f.Losses()), nil
}

// resume restores a checkpoint, completely and before anything is recorded.
func (f *Fit[T]) resume(path string) error {
	s, err := checkpoint.Load(path)
	if err != nil {
		return err
	}
	if err := f.checkMeta(path, s.Meta); err != nil {
		return err
	}
	entries, err := f.learner.memory.entries()
	if err != nil {
		return err
	}
	if err := checkpoint.Restore(entries, s.Model); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := f.learner.memory.store(entries); err != nil {
		return err
	}
	momentum, errMomentum := checkpoint.FloatTensors[T](s.Momentum)
	shadow, errShadow := checkpoint.FloatTensors[T](s.EMA)
	gradients, errGradient := checkpoint.FloatTensors[T](s.Gradient)
	if err := errors.Join(errMomentum, errShadow, errGradient); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := f.learner.update.Optimizer.Restore(momentum); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := f.learner.update.EMA.Restore(shadow, *s.Meta.EMA); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if f.learner.update.Scaler != nil {
		if err := f.learner.update.Scaler.Restore(*s.Meta.Scaler); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	f.at = data.Position{Epoch: s.Meta.Epoch, Batch: s.Meta.Batch}
	f.alpha, f.learner.update.Steps = s.Meta.Schedule.Alpha, s.Meta.Step
	trained := f.learner.accumulation.Batches(s.Meta.Step) + s.Meta.Pending
	if trained != f.done() || f.at.Batch > f.data.Train.Batches() {
		return fmt.Errorf("%s was written after %d optimizer steps and %d micro-batches of the next, which is not epoch %d, batch %d of this data with its %d batches; resume with the data of the fit",
			path, s.Meta.Step, s.Meta.Pending, f.at.Epoch, f.at.Batch, f.data.Train.Batches())
	}
	if f.learner.accumulate, err = optim.NewAccumulator(f.learner.accumulation, s.Meta.Step, s.Meta.Pending); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.restoreGradients(gradients)
}

// restoreGradients puts the gradients of an open accumulation window back.
func (f *Fit[T]) restoreGradients(gradients []optim.Tensor[T]) error {
	for _, g := range gradients {
		if err := f.learner.memory.restoreGradient(g.Name, g.Value); err != nil {
			return err
		}
	}
	return nil
}

// checkMeta refuses a checkpoint of another fit, naming what differs.
func (f *Fit[T]) checkMeta(path string, m checkpoint.Meta) error {
	if m.Task != f.task.Name || m.Scale != f.task.Scale || m.Classes != f.task.Classes {
		return fmt.Errorf("%s is of task %s, scale %s, %d classes, this fit of task %s, scale %s, %d classes; resume with the settings of the checkpoint",
			path, m.Task, m.Scale, m.Classes, f.task.Name, f.task.Scale, f.task.Classes)
	}
	if different := m.Labels.Differs(labelsOf(f.data.Train.Dataset())); different != "" {
		return fmt.Errorf("%s was made with other labels: %s; resume with the data of the fit", path, different)
	}
	if m.EMA == nil {
		return fmt.Errorf("%s holds no moving average; it is no checkpoint of a fit", path)
	}
	if f.options.LossScale != nil && m.Scaler == nil {
		return fmt.Errorf("%s holds no loss scale; it is of a fit in another precision, resume in that one", path)
	}
	different := f.differentSettings(m.Configuration)
	if len(different) > 0 {
		sort.Strings(different)
		return fmt.Errorf("%s was made with other settings: %s; resume with the settings of the checkpoint", path, strings.Join(different, ", "))
	}
	return nil
}

// differentSettings lists what determines the fit otherwise than a checkpoint says.
func (f *Fit[T]) differentSettings(kept map[string]string) []string {
	was := map[string]string{}
	maps.Copy(was, f.options.Defaults)
	maps.Copy(was, kept)
	keys := map[string]bool{}
	for k := range kept {
		keys[k] = true
	}
	for k := range f.options.Configuration {
		keys[k] = true
	}
	var different []string
	for k := range keys {
		if now := f.options.Configuration[k]; was[k] != now {
			different = append(different, fmt.Sprintf("%s (checkpoint %q, now %q)", k, was[k], now))
		}
	}
	return different
}

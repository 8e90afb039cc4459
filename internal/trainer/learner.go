package trainer

import (
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/optim"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// Learner is the model of a fit with everything that one training step does
// to it. Its methods are the parts of a step, in the order of their use:
// Forward, Loss, Backward, Update.
type Learner[T device.Float] struct {
	objective Objective[T]
	network   *Network
	memory    *memory[T]

	update       optim.Update[T]
	accumulation optim.Accumulation
	accumulate   *optim.Accumulator
	placed       bool          // the optimizer has its stages
	hostDevice   device.Device // of the objective's parameters, when the network's is another
	hostFit      *replay.Fit

	outputs Outputs[T]       // copies of outputs that cannot be addressed
	shapes  map[string][]int // of the latest outputs, by name
}

// NewLearner loads the task's stages into a fit of the recording runtime. rate
// is the complete learning-rate schedule, with the accumulation.
func NewLearner[T device.Float](fit *replay.Fit, task Task[T], o Options, rate optim.LearningRateOptions) (*Learner[T], error) {
	l := &Learner[T]{outputs: Outputs[T]{}, shapes: map[string][]int{}}
	stages, err := addStages(fit, task, o)
	if err != nil {
		return nil, err
	}
	if l.network, err = NewNetwork(stages); err != nil {
		return nil, err
	}
	own, objective := newOwned(task.Objective, o.TrainerSeed)
	l.objective = objective
	l.guardObjective()
	if l.memory, err = newMemory(stages, own); err != nil {
		return nil, err
	}
	l.update.Clip = o.Clip
	if o.LossScale != nil {
		if l.update.Scaler, err = optim.NewLossScaler(*o.LossScale); err != nil {
			return nil, err
		}
	}
	if l.update.Rate, err = optim.NewLearningRate(rate); err != nil {
		return nil, err
	}
	if l.update.Optimizer, err = newOptimizer[T](fit, o); err != nil {
		return nil, err
	}
	if err := l.StartAverage(o.Average); err != nil {
		return nil, err
	}
	if l.accumulation, err = rate.Accumulation(); err != nil {
		return nil, err
	}
	l.accumulate, err = optim.NewAccumulator(l.accumulation, 0, 0)
	return l, err
}

// addStages loads the stages of a task with the wishes of the options.
func addStages[T device.Float](fit *replay.Fit, task Task[T], o Options) ([]*replay.Stage, error) {
	asked := map[CaptureOption]bool{CaptureNetwork: o.CaptureNetwork, CaptureSegmentHeads: o.CaptureSegmentHeads}
	known := map[CaptureOption]bool{CaptureNetwork: true}
	var stages []*replay.Stage
	for _, plan := range task.Plans {
		option, listed := task.CapturedBy[plan.Name]
		if !listed {
			option = CaptureNetwork
		}
		known[option] = true
		wish := replay.StageOptions{Capture: asked[option], Option: string(option)}
		if o.CaptureFull {
			wish = replay.StageOptions{Capture: true, Option: string(CaptureFull)}
		}
		s, err := fit.AddStage(plan, wish)
		if err != nil {
			return nil, err
		}
		stages = append(stages, s)
	}
	if o.CaptureSegmentHeads && !known[CaptureSegmentHeads] {
		return nil, fmt.Errorf("model.capture_segment_heads is on, but task %s has no stage that it records; turn it off", task.Name)
	}
	return stages, nil
}

// StartAverage begins the moving average anew, from the model as it is.
func (l *Learner[T]) StartAverage(o optim.EMAOptions) error {
	if err := l.memory.pull(); err != nil {
		return err
	}
	var err error
	l.update.EMA, err = optim.NewEMA(o, l.memory.live())
	return err
}

// Forward runs the stages on images in training mode.
func (l *Learner[T]) Forward(images replay.Source) (Outputs[T], error) {
	l.guardObjective()
	return l.read(l.network.Forward(images))
}

// Evaluate runs the stages on images in evaluation mode.
func (l *Learner[T]) Evaluate(images replay.Source) (Outputs[T], error) {
	return l.read(l.network.Evaluate(images))
}

// read makes the results of the network plain slices.
func (l *Learner[T]) read(results map[string]*replay.Tensor, err error) (Outputs[T], error) {
	if err != nil {
		return nil, err
	}
	outputs := Outputs[T]{}
	for name, t := range results {
		if outputs[name], err = l.values(t); err != nil {
			return nil, err
		}
		l.shapes[name] = t.Shape()
	}
	return outputs, nil
}

// values gives the elements of an output: its memory where that can be
// addressed, else a copy.
func (l *Learner[T]) values(t *replay.Tensor) ([]T, error) {
	inner, err := t.Device()
	if err != nil {
		return nil, err
	}
	if values, ok := host.Slice[T](inner); ok {
		return values, nil
	}
	n := device.Elements(t.Shape())
	if cap(l.outputs[t.Name()]) < n {
		l.outputs[t.Name()] = make([]T, n)
	}
	values := l.outputs[t.Name()][:n]
	return values, device.Read(t, values)
}

// Loss evaluates the objective.
func (l *Learner[T]) Loss(outputs Outputs[T], batch *data.Batch, alpha float64) (Loss[T], error) {
	l.guardObjective()
	return l.objective.Loss(outputs, batch, alpha)
}

// guardObjective keeps the stages native when the objective is not the task's
// own (guard G7). It is asked when a fit opens, so that Explain tells of it, and
// before each pass, because either may be a replay.
func (l *Learner[T]) guardObjective() {
	if name, replaced := l.objective.Replaced(); replaced {
		for _, s := range l.network.stages {
			s.SetObjectiveReplaced(name)
		}
	}
}

// Finite tells whether a loss may be learnt from.
func (l Loss[T]) Finite() bool { return !math.IsNaN(l.Total) && !math.IsInf(l.Total, 0) }

// Backward gives the stages their cotangents, scaled for the accumulation
// window and by the loss scale; the first pass of a window clears the gradients
// to absent before.
func (l *Learner[T]) Backward(loss Loss[T]) error {
	if l.accumulate.First() {
		l.clear()
	}
	factor := l.accumulate.LossScale()
	if l.update.Scaler != nil {
		factor *= l.update.Scaler.Scale()
	}
	scale := T(factor)
	cotangents := map[string]replay.Source{}
	for name, values := range loss.Cotangents {
		if scale != 1 {
			for k := range values {
				values[k] *= scale
			}
		}
		cotangents[name] = source(values, l.shapes[name])
	}
	if err := l.network.Backward(cotangents); err != nil {
		return err
	}
	return l.memory.owned.add(loss.Gradients, scale)
}

func (l *Learner[T]) clear() {
	for _, s := range l.network.stages {
		s.ClearGradients()
	}
	l.memory.owned.clear()
}

// Skip counts a micro-batch that has no backward pass.
func (l *Learner[T]) Skip() {
	if l.accumulate.First() {
		l.clear()
	}
}

// Parameters lists all parameters with their published gradients, nil where
// absent.
func (l *Learner[T]) Parameters() ([]optim.Parameter[T], error) { return l.memory.optimized() }

// Update counts the micro-batch and, when the accumulation window is full,
// clips, steps the optimizer and moves the average; stepped tells whether.
func (l *Learner[T]) Update() (outcome optim.Outcome, stepped bool, err error) {
	if !l.accumulate.Add() {
		return optim.Outcome{}, false, nil
	}
	if err := l.placeOptimizer(); err != nil {
		return optim.Outcome{}, false, err
	}
	parameters, err := l.memory.optimized()
	if err != nil {
		return optim.Outcome{}, false, err
	}
	for _, b := range l.memory.buffers {
		if err := b.pull(); err != nil {
			return optim.Outcome{}, false, err
		}
	}
	if outcome, err = l.update.Step(parameters, l.memory.live()); err != nil {
		return outcome, false, err
	}
	for _, p := range l.memory.parameters {
		if err := p.push(); err != nil {
			return outcome, false, err
		}
	}
	return outcome, true, nil
}

// Live lists the floating-point parameters and buffers; their values are the
// model's own memory where it can be addressed. Store writes them back.
func (l *Learner[T]) Live() ([]optim.Tensor[T], error) {
	if err := l.memory.pull(); err != nil {
		return nil, err
	}
	return l.memory.live(), nil
}

// Store writes changes of the slices that Live gave to the device.
func (l *Learner[T]) Store() error { return l.memory.push() }

// Momentum copies the optimizer's momentum buffers, sorted by name.
func (l *Learner[T]) Momentum() []optim.Tensor[T] { return l.update.Optimizer.State() }

// Average copies the moving average, sorted by name.
func (l *Learner[T]) Average() []optim.Tensor[T] {
	shadow, _ := l.update.EMA.State()
	return shadow
}

func source[T device.Float](values []T, shape []int) replay.Source {
	switch v := any(values).(type) {
	case []float32:
		return replay.Float32s(v, shape...)
	case []float64:
		return replay.Float64s(v, shape...)
	}
	panic(fmt.Sprintf("unreachable: %T is no Float", values))
}

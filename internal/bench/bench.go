package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Repeats says how often a step is run.
type Repeats struct {
	Warmup, Steps int // before the measurement, and in it
}

// Run measures a workload on a device: first native steps, then replayed ones.
// The backward program is that of all outputs. The device must implement
// device.Timed.
func Run(d device.Device, w Workload, repeats Repeats) (*Report, error) {
	timed, ok := d.(device.Timed)
	if !ok {
		return nil, fmt.Errorf("%s cannot be timed", d.Info().Name)
	}
	if repeats.Warmup < 0 || repeats.Steps < 1 {
		return nil, fmt.Errorf("%d steps after %d are asked for; measure 1 or more after 0 or more", repeats.Steps, repeats.Warmup)
	}
	plan, err := w.plan()
	if err != nil {
		return nil, err
	}
	stage, err := d.Load(plan, w.Precision)
	if err != nil {
		return nil, err
	}
	r := &run{timed: timed, device: d, stage: stage, programs: []device.Program{device.Forward(ir.Training), device.BackwardOf(widest(plan))}, repeats: repeats}
	report, err := r.all(w)
	return report, errors.Join(err, r.close())
}

// widest is the backward program of the most outputs.
func widest(plan *ir.Stage) int {
	best := 0
	for i, b := range plan.Backward {
		if len(b.Present) > len(plan.Backward[best].Present) {
			best = i
		}
	}
	return best
}

// run is one measurement.
type run struct {
	timed    device.Timed
	device   device.Device
	stage    device.Stage
	binding  device.Binding
	programs []device.Program // forward and backward
	repeats  Repeats

	recordings []device.Recording
	timers     [][3]device.Timer // of each step: forward, backward and both
}

func (r *run) all(w Workload) (*Report, error) {
	var err error
	if r.binding, err = r.stage.Bind(w.Sizes); err != nil {
		return nil, err
	}
	if err = fill(r.stage, r.binding); err != nil {
		return nil, err
	}
	if err = r.makeTimers(); err != nil {
		return nil, err
	}
	report, err := r.describe(w)
	if err != nil {
		return nil, err
	}
	native, err := r.measure("native", func(i int) error { return r.binding.Run(r.programs[i]) })
	if err != nil {
		return nil, err
	}
	if report.Record, err = r.record(); err != nil {
		return nil, err
	}
	replayed, err := r.measure("replay", func(i int) error { return r.recordings[i].Replay() })
	if err != nil {
		return nil, err
	}
	for _, recording := range r.recordings {
		replayed.Nodes += recording.Nodes()
	}
	report.finish(r.device.Counters(), native, replayed)
	return report, nil
}

func (r *run) makeTimers() (err error) {
	r.timers = make([][3]device.Timer, r.repeats.Warmup+r.repeats.Steps)
	for step := range r.timers {
		for i := range r.timers[step] {
			if r.timers[step][i], err = r.timed.NewTimer(); err != nil {
				return err
			}
		}
	}
	return nil
}

// record records both programs and tells how long it took.
func (r *run) record() (time.Duration, error) {
	if err := r.timed.Synchronize(); err != nil {
		return 0, err
	}
	start := time.Now()
	for _, p := range r.programs {
		recording, err := r.binding.Record(p)
		if err != nil {
			return 0, err
		}
		r.recordings = append(r.recordings, recording)
	}
	return time.Since(start), nil
}

// measure runs steps, of which call issues the forward (0) and the backward (1)
// program, and takes medians. The host's part is that of steps on an idle device.
// The device's part is that of steps in a row, one enqueued behind the other, so
// that no step waits for the host unless it takes the device less time.
func (r *run) measure(mode string, call func(program int) error) (Way, error) {
	way := Way{Mode: mode}
	dispatch, err := r.dispatch(call)
	if err != nil {
		return Way{}, fmt.Errorf("%s: %w", mode, err)
	}
	before := r.device.Counters()
	times, err := r.inARow(call)
	if err != nil {
		return Way{}, fmt.Errorf("%s: %w", mode, err)
	}
	after, steps := r.device.Counters(), int64(r.repeats.Warmup+r.repeats.Steps)
	way.Forward, way.Backward, way.Both, way.Dispatch = median(times[0]), median(times[1]), median(times[2]), median(dispatch)
	way.KernelLaunches = (after.KernelLaunches - before.KernelLaunches) / steps
	way.GraphLaunches = (after.GraphLaunches - before.GraphLaunches) / steps
	return way, nil
}

// dispatch gives the host times of issuing both programs, without the warm-up.
func (r *run) dispatch(call func(program int) error) (times []time.Duration, err error) {
	for range r.repeats.Warmup + r.repeats.Steps {
		if err = r.timed.Synchronize(); err != nil {
			return nil, err
		}
		start := time.Now()
		for program := range r.programs {
			if err = call(program); err != nil {
				return nil, err
			}
		}
		times = append(times, time.Since(start))
	}
	return times[r.repeats.Warmup:], r.timed.Synchronize()
}

// inARow gives the device times of the forward program, of the backward program
// and of both, without the warm-up.
func (r *run) inARow(call func(program int) error) (times [3][]time.Duration, err error) {
	for step := range r.repeats.Warmup + r.repeats.Steps {
		if err = r.marked(r.timers[step], call); err != nil {
			return times, err
		}
	}
	for _, timers := range r.timers[r.repeats.Warmup:] {
		for i, t := range timers {
			took, err := t.Elapsed()
			if err != nil {
				return times, err
			}
			times[i] = append(times[i], took)
		}
	}
	return times, nil
}

// marked issues a step between marks: of the forward program, of the backward
// program, of both.
func (r *run) marked(timers [3]device.Timer, call func(program int) error) error {
	if err := timers[2].Start(); err != nil {
		return err
	}
	for program := range r.programs {
		if err := timers[program].Start(); err != nil {
			return err
		}
		if err := call(program); err != nil {
			return err
		}
		if err := timers[program].Stop(); err != nil {
			return err
		}
	}
	return timers[2].Stop()
}

func (r *run) close() error {
	var errs []error
	for _, recording := range r.recordings {
		errs = append(errs, recording.Close())
	}
	for _, timers := range r.timers {
		for _, t := range timers {
			if t != nil {
				errs = append(errs, t.Close())
			}
		}
	}
	if r.binding != nil {
		errs = append(errs, r.binding.Close())
	}
	return errors.Join(append(errs, r.stage.Close())...)
}

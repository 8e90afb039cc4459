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
	timers     [3]device.Timer // forward, backward and both
}

func (r *run) all(w Workload) (*Report, error) {
	var err error
	if r.binding, err = r.stage.Bind(w.Sizes); err != nil {
		return nil, err
	}
	if err = fill(r.stage, r.binding); err != nil {
		return nil, err
	}
	for i := range r.timers {
		if r.timers[i], err = r.timed.NewTimer(); err != nil {
			return nil, err
		}
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
// program, and takes medians.
func (r *run) measure(mode string, call func(program int) error) (Way, error) {
	var times [4][]time.Duration // forward, backward, both, dispatch
	before := r.device.Counters()
	for i := range r.repeats.Warmup + r.repeats.Steps {
		if i == r.repeats.Warmup {
			before = r.device.Counters()
		}
		step, err := r.step(call)
		if err != nil {
			return Way{}, fmt.Errorf("%s: %w", mode, err)
		}
		if i < r.repeats.Warmup {
			continue
		}
		for k := range times {
			times[k] = append(times[k], step[k])
		}
	}
	after, steps := r.device.Counters(), int64(r.repeats.Steps)
	return Way{
		Mode: mode, Forward: median(times[0]), Backward: median(times[1]), Both: median(times[2]), Dispatch: median(times[3]),
		KernelLaunches: (after.KernelLaunches - before.KernelLaunches) / steps,
		GraphLaunches:  (after.GraphLaunches - before.GraphLaunches) / steps,
	}, nil
}

// step runs one step on an idle device and gives the times of the forward and
// the backward program, of both, and of the host's part.
func (r *run) step(call func(program int) error) (times [4]time.Duration, err error) {
	if err = r.timed.Synchronize(); err != nil {
		return times, err
	}
	if err = r.timers[2].Start(); err != nil {
		return times, err
	}
	for program := range r.programs {
		if err = r.timers[program].Start(); err != nil {
			return times, err
		}
		start := time.Now()
		if err = call(program); err != nil {
			return times, err
		}
		times[3] += time.Since(start)
		if err = r.timers[program].Stop(); err != nil {
			return times, err
		}
	}
	if err = r.timers[2].Stop(); err != nil {
		return times, err
	}
	for i, t := range r.timers {
		if times[i], err = t.Elapsed(); err != nil {
			return times, err
		}
	}
	return times, nil
}

func (r *run) close() error {
	var errs []error
	for _, recording := range r.recordings {
		errs = append(errs, recording.Close())
	}
	for _, t := range r.timers {
		if t != nil {
			errs = append(errs, t.Close())
		}
	}
	if r.binding != nil {
		errs = append(errs, r.binding.Close())
	}
	return errors.Join(append(errs, r.stage.Close())...)
}

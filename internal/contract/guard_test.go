package contract_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

var full = []trainer.CaptureOption{trainer.CaptureFull}

// partial is what every recorded stage counts in each of three epochs.
var partial = map[string]int{"G4 partial batch": 3}

// headOf is the stage that holds the class stems.
func headOf(task string) string {
	if len(stagesOf[task]) == 1 {
		return "network"
	}
	return "head"
}

// foreign is an objective that is not the task's own.
type foreign struct{ trainer.Objective[float32] }

func (foreign) Replaced() (string, bool) { return "mine", true }

// With keeps the objective foreign when the learner gives it its parameters.
func (o foreign) Parameters() []parameter { return parametersOf(o.Objective) }

func (o foreign) With(values [][]float32) trainer.Objective[float32] {
	return foreign{withValues(o.Objective, values)}
}

// unable is a device that replays no precision.
type unable struct{ device.Device }

func (d unable) Info() device.Info {
	info := d.Device.Info()
	info.Precisions = nil
	return info
}

// guardCase is one guard of contract section 4 at work in a fully recorded fit.
type guardCase struct {
	name    string
	capture []trainer.CaptureOption
	change  func(*trainer.Options)
	arrange func(f *fixture, task string) // before the fit runs
	make    func(r *request)
	// want gives the native calls of a stage by reason.
	want func(task, stage string) map[string]int
}

func everywhere(reason string) func(string, string) map[string]int {
	return func(string, string) map[string]int { return map[string]int{reason: 3 * batches} }
}

// headOnly is a reason of the head from the second step of the second epoch on:
// five full batches and two partial ones later, of which the earlier guard G4
// takes the partial ones unless the reason comes before it.
func headOnly(reason string, calls int) func(string, string) map[string]int {
	return func(task, stage string) map[string]int {
		if stage != headOf(task) {
			return partial
		}
		return map[string]int{reason: calls, "G4 partial batch": 3}
	}
}

const frozen = "head.o2m.cls_stems.0.2.bias"

var guardCases = []guardCase{
	{name: "G1 option off", capture: []trainer.CaptureOption{}, want: everywhere("G1 capture_network off")},
	{name: "G2 accumulation", change: func(o *trainer.Options) { o.Accumulate = 3 }, want: everywhere("G2 gradient accumulation 3")},
	{name: "G2 growing accumulation", change: func(o *trainer.Options) { o.Accumulate, o.AccumulateWarmupEpochs = 3, 2 }, want: everywhere("G2 gradient accumulation 3")},
	{name: "G3 precision", make: func(r *request) { r.device = unable{host.Open(host.Options{})} }, want: everywhere("G3 precision fp32 cannot be replayed on ")},
	{name: "G4 partial batch", want: func(string, string) map[string]int { return partial }},
	{name: "G5 frozen parameter", arrange: func(f *fixture, task string) {
		f.after = func(step int) {
			if step == 5 {
				require.NoError(f, f.stage(headOf(task)).SetTrainable(frozen, false))
			}
		}
	}, want: headOnly("G5 frozen parameter "+frozen, 5)},
	{name: "G6 head changed", arrange: func(f *fixture, task string) {
		f.after = func(step int) {
			if step == 5 {
				f.stage(headOf(task)).MarkChanged("another topology")
			}
		}
	}, want: headOnly("G6 head changed: another topology", 5)},
	{name: "G7 objective replaced", make: func(r *request) {
		r.objective = func(o trainer.Objective[float32]) trainer.Objective[float32] { return foreign{o} }
	}, want: func(string, string) map[string]int {
		return map[string]int{"G7 objective overridden: mine": 9, "G4 partial batch": 3}
	}},
	{name: "G8 observer on the head", arrange: func(f *fixture, task string) {
		var remove func()
		f.after = func(step int) {
			switch step {
			case 4:
				var err error
				remove, err = f.stage(headOf(task)).Observe("", func(*replay.Tensor) {})
				require.NoError(f, err)
			case 6:
				remove()
			}
		}
	}, want: headOnly("G8 observer registered", 2)},
	{name: "G10 recording failed", make: func(r *request) {
		r.device = host.Open(host.Options{Fail: func(event string, n int) error {
			if event == "replay" && n == 9 {
				return errors.New("injected")
			}
			return nil
		}})
	}},
}

// Contract section 5 item 6 and invariants I10 and I11: whatever makes a stage
// native, the fit is the native fit, and each call has its reason. Field cases
// GR-03, GR-06, LC-12, SG-10, YO-21, YO-22.
func TestGuards(t *testing.T) {
	for _, task := range []string{"pose", "segment"} {
		file := writeDataset(t, task)
		_, plain := request{task: task, data: file}.run(t)
		for _, c := range guardCases {
			t.Run(task+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				r := request{task: task, data: file, change: c.change}
				want := plain
				if c.arrange != nil || c.change != nil {
					native := r.begin(t)
					if c.arrange != nil {
						c.arrange(native, task)
					}
					require.NoError(t, native.fit.Run(context.Background()))
					want = native.outcome()
					native.close()
				}
				r.capture = full
				if c.capture != nil {
					r.capture = c.capture
				}
				if c.make != nil {
					c.make(&r)
				}
				f := r.begin(t)
				if c.arrange != nil {
					c.arrange(f, task)
				}
				require.NoError(t, f.fit.Run(context.Background()))
				require.Equal(t, want, f.outcome())
				for _, stage := range stagesOf[task] {
					f.checkReasons(task, stage, c)
				}
				f.close()
			})
		}
	}
}

func (f *fixture) checkReasons(task, stage string, c guardCase) {
	f.Helper()
	got := f.native(stage)
	if c.want == nil { // a failure: once, for all stages, from some step on
		require.Positive(f, got["G10 replay failed"], stage)
		require.Equal(f, 1, strings.Count(f.log.String(), "warning"), f.log.String())
		return
	}
	want := c.want(task, stage)
	if c.capture != nil { // the option's name depends on the stage
		want = map[string]int{"G1 " + string(optionOf(task, stage)) + " off": 3 * batches}
	}
	shortened := map[string]int{}
	for reason, calls := range got {
		if name, _, is := strings.Cut(reason, "replayed on "); is {
			reason = name + "replayed on "
		}
		shortened[reason] += calls
	}
	require.True(f, maps.Equal(want, shortened), "%s: want %v, got %v", stage, want, got)
}

// optionOf is the option that records a stage.
func optionOf(task, stage string) trainer.CaptureOption {
	switch {
	case len(stagesOf[task]) == 1 || stage == "features":
		return trainer.CaptureNetwork
	case stage == "head":
		return trainer.CaptureFull
	}
	return trainer.CaptureSegmentHeads
}

// Guard G9: validation is native in a recorded fit. The semantic stage, which
// exists in training only, is not evaluated at all.
func TestValidationIsNative(t *testing.T) {
	f, _ := request{task: "segment", data: writeDataset(t, "segment"), capture: full}.run(t)
	for _, stage := range stagesOf["segment"] {
		calls := 0
		for _, r := range f.report(stage).Reasons {
			if r.Guard == "G9" {
				calls += r.Calls
			}
		}
		want := 6 // two batches after each of three epochs
		if stage == "semantic" {
			want = 0
		}
		require.Equal(t, want, calls, stage)
	}
}

// Field case SG-10: a fit that is validated after every epoch, fully recorded, is
// the fit that never was.
func TestValidationLeavesNoTrace(t *testing.T) {
	for _, task := range tasks {
		file := writeDataset(t, task)
		_, want := request{task: task, data: file, unjudged: true}.run(t)
		_, got := request{task: task, data: file, capture: full}.run(t)
		require.Equal(t, want.Hashes, got.Hashes, task)
		require.Equal(t, want.Losses, got.Losses, task)
	}
}

// The option of the segmentation heads is an error where no stage is one.
func TestSegmentHeadsOnAnotherTask(t *testing.T) {
	for _, task := range []string{"detect", "obb", "pose"} {
		_, err := request{task: task, data: writeDataset(t, task), capture: []trainer.CaptureOption{trainer.CaptureSegmentHeads}}.open(t)
		require.EqualError(t, err, "model.capture_segment_heads is on, but task "+task+" has no stage that it records; turn it off")
	}
}

// A frozen parameter keeps its bits from then on, and statistics go on as they
// do natively (field cases GR-03 and YO-21; the equality of fits is TestGuards').
func TestFrozenParameterStays(t *testing.T) {
	f := request{task: "pose", data: writeDataset(t, "pose"), capture: full}.begin(t)
	var at []float32
	f.after = func(step int) {
		switch step {
		case 2:
			at = f.parameter(frozen).Value
			at = append([]float32(nil), at...)
			require.NoError(t, f.stage("head").SetTrainable(frozen, false))
		case 12:
			p := f.parameter(frozen)
			require.Nil(t, p.Gradient)
			require.Equal(t, at, p.Value)
		}
	}
	require.NoError(t, f.fit.Run(context.Background()))
	f.close()
}

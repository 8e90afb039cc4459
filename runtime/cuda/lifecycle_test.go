//go:build cuda

package cuda_test

import (
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
)

var usual = ir.Sizes{Batch: 4, Height: 32, Width: 32}

// Invariants I2 and I7, field case CT-06: recording, as the very first thing,
// executes nothing and allocates nothing; replays allocate nothing either.
func TestRecordingLeavesNoTrace(t *testing.T) {
	o := open(t, device.FP32, usual)
	before, bytes := o.state(), o.device.Counters().Bytes
	recordings := o.record()
	require.Empty(t, different(before, o.state()))
	for range 3 {
		for _, r := range recordings {
			require.NoError(t, r.Replay())
		}
	}
	require.Equal(t, bytes, o.device.Counters().Bytes)
	require.EqualValues(t, []int64{3}, o.buffer("num_batches_tracked"))
	require.Zero(t, testing.AllocsPerRun(20, func() {
		for _, r := range recordings {
			if err := r.Replay(); err != nil {
				t.Error(err)
			}
		}
	}))
	o.close(recordings...)
}

// Field case SG-08: the census lets nothing but the plan's launches into a
// recording, and the plan's count is that of its launches.
func TestNodes(t *testing.T) {
	o := open(t, device.FP32, usual)
	recordings := o.record()
	start := o.device.Counters().KernelLaunches
	require.NoError(t, o.binding.Run(forward))
	require.EqualValues(t, recordings[0].Nodes(), o.device.Counters().KernelLaunches-start)
	require.GreaterOrEqual(t, recordings[0].Nodes(), len(forward.Ops(o.stage.Plan())))
	_, err := o.binding.Record(forward)
	require.ErrorContains(t, err, "has a recording already")
	require.NoError(t, recordings[0].Close())
	restore := cuda.OneNodeMore(o.binding, 0)
	_, err = o.binding.Record(forward)
	require.ErrorContains(t, err, "a recording does not hold the launches of its plan")
	restore()
	recordings[0], err = o.binding.Record(forward)
	require.NoError(t, err)
	o.close(recordings...)
}

// Field cases LC-01 and LC-02: a capture that fails at any launch is ended and
// leaves nothing; the step runs natively once, and later recordings work.
func TestFailedRecording(t *testing.T) {
	clean := open(t, device.FP32, usual)
	clean.run()
	want := clean.state()
	r, err := clean.binding.Record(forward)
	require.NoError(t, err)
	last := r.Nodes()
	clean.close(r)
	for _, at := range []int{1, 3, 10, last} {
		o := open(t, device.FP32, usual)
		reserved, bytes := o.device.Counters().Reserved, o.device.Counters().Bytes
		for range 20 {
			cuda.FailAt(o.binding, at)
			_, err := o.binding.Record(forward)
			require.ErrorContains(t, err, "injected failure")
			require.False(t, device.IsSticky(err))
		}
		cuda.FailAt(o.binding, 0)
		require.Zero(t, o.device.Counters().Recordings)
		require.Equal(t, bytes, o.device.Counters().Bytes)
		require.Equal(t, reserved, o.device.Counters().Reserved)
		o.run()
		require.Empty(t, different(want, o.state()))
		require.EqualValues(t, []int64{1}, o.buffer("num_batches_tracked"))
		recordings := o.record()
		for _, r := range recordings {
			require.NoError(t, r.Replay())
		}
		require.EqualValues(t, []int64{2}, o.buffer("num_batches_tracked"))
		o.close(recordings...)
	}
}

// A native launch that fails is an error of the call, and the next step is sound.
func TestFailedLaunch(t *testing.T) {
	o := open(t, device.FP32, usual)
	cuda.FailAt(o.binding, 5)
	require.ErrorContains(t, o.binding.Run(forward), "injected failure")
	o.run()
	require.Empty(t, notFinite(o.state()))
	o.close()
}

// Field case LC-04: closing right after a replay waits for it, and what is
// allocated next does not reach its results.
func TestCloseWaitsForReplay(t *testing.T) {
	native := open(t, device.FP32, usual)
	native.run()
	want := native.state()
	native.close()
	d := openDevice(t, cuda.Options{})
	for range 20 {
		o := openOn(t, d, device.FP32, usual)
		recordings := o.record()
		for _, r := range recordings {
			require.NoError(t, r.Replay())
		}
		for _, r := range recordings {
			require.NoError(t, r.Close())
		}
		require.NoError(t, o.binding.Close())
		next, err := o.stage.Bind(usual) // filled with NaN
		require.NoError(t, err)
		for i, p := range o.stage.Plan().Parameters {
			got := make([]float64, device.Elements(p.Shape))
			if g := o.stage.Gradient(i); g != nil {
				require.NoError(t, g.ReadFloat64(got))
				for j, v := range got {
					require.Equal(t, want["gradient "+p.Name][j], math.Float64bits(v), p.Name)
				}
			}
		}
		require.NoError(t, next.Close())
		require.NoError(t, o.stage.Close())
	}
	require.NoError(t, d.Close())
}

// Field case LC-03: fits one after another give all memory back, as the driver
// counts it. The first fit is left out: the driver keeps some memory from then on.
func TestManyFits(t *testing.T) {
	fits := 50
	if testing.Short() {
		fits = 3
	}
	d := openDevice(t, cuda.Options{})
	var first int64
	for i := range fits {
		o := openOn(t, d, device.BF16, usual)
		recordings := o.record()
		for range 3 {
			for _, r := range recordings {
				require.NoError(t, r.Replay())
			}
		}
		for _, r := range recordings {
			require.NoError(t, r.Close())
		}
		o.closeStage()
		free, err := cuda.FreeMemory(d)
		require.NoError(t, err)
		if i == 0 {
			first = free
		}
		require.Less(t, first-free, int64(1<<20), "fit %d", i)
	}
	require.NoError(t, d.Close())
}

// Field case LC-13 and RT-04: the garbage collector releases nothing, and what
// others allocate and fill does not reach a recording.
func TestOthersMemory(t *testing.T) {
	native, o := open(t, device.FP32, usual), open(t, device.FP32, usual)
	recordings := o.record()
	var others []device.Binding
	for range 20 {
		b, err := o.stage.Bind(usual)
		require.NoError(t, err)
		others = append(others, b)
		runtime.GC()
	}
	for step := range 5 {
		native.inputs(uint64(step))
		o.inputs(uint64(step))
		native.run()
		for _, r := range recordings {
			require.NoError(t, r.Replay())
		}
		require.Empty(t, different(native.state(), o.state()))
	}
	for _, b := range others {
		require.NoError(t, b.Close())
	}
	native.close()
	o.close(recordings...)
}

func TestCloseOrder(t *testing.T) {
	o := open(t, device.FP32, usual)
	r, err := o.binding.Record(forward)
	require.NoError(t, err)
	require.ErrorContains(t, o.device.Close(), "1 open stages")
	require.ErrorContains(t, o.stage.Close(), "1 open bindings")
	require.ErrorContains(t, o.binding.Close(), "1 open recordings")
	require.NoError(t, r.Close())
	require.ErrorContains(t, r.Close(), "already closed")
	require.ErrorContains(t, r.Replay(), "closed")
	require.NoError(t, o.binding.Close())
	require.ErrorContains(t, o.binding.Close(), "already closed")
	require.ErrorContains(t, o.binding.Run(forward), "closed")
	require.NoError(t, o.stage.Close())
	require.ErrorContains(t, o.stage.Close(), "already closed")
	_, err = o.stage.Bind(usual)
	require.ErrorContains(t, err, "closed")
	require.NoError(t, o.device.Close())
	require.ErrorContains(t, o.device.Close(), "already closed")
	_, err = o.device.Load(plan(t, small.Plan), device.FP32)
	require.ErrorContains(t, err, "closed")
}

func TestFaultInjection(t *testing.T) {
	broken := errors.New("broken")
	wanted := ""
	d := openDevice(t, cuda.Options{Fail: func(event string, _ int) error {
		if event == wanted {
			return broken
		}
		return nil
	}})
	o := openOn(t, d, device.FP32, usual)
	r, err := o.binding.Record(forward)
	require.NoError(t, err)
	for event, call := range map[string]func() error{
		"run":    func() error { return o.binding.Run(forward) },
		"replay": r.Replay,
		"record": func() error { _, err := o.binding.Record(device.BackwardOf(0)); return err },
	} {
		before := d.Counters()
		wanted = event
		require.ErrorIs(t, call(), broken)
		require.Equal(t, before, d.Counters(), "a failed %s does not count", event)
	}
	o.close(r)
}

// Field case CT-13: a timer outside recordings measures them.
func TestTimer(t *testing.T) {
	o := open(t, device.FP32, usual)
	recordings := o.record()
	timer, err := o.device.NewTimer()
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, timer.Start())
		require.NoError(t, recordings[0].Replay())
		require.NoError(t, timer.Stop())
		elapsed, err := timer.Elapsed()
		require.NoError(t, err)
		require.Positive(t, elapsed)
		require.Less(t, elapsed, time.Minute)
	}
	require.NoError(t, timer.Close())
	o.close(recordings...)
}

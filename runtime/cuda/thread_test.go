//go:build cuda

package cuda_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Field case RT-01: goroutines that move between threads use one device; every
// call finds its context.
func TestManyGoroutines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	o := openTiny(t)
	r, err := o.binding.Record(forward)
	require.NoError(t, err)
	var group sync.WaitGroup
	errs := make([]error, 64)
	for i := range errs {
		group.Go(func() {
			for range 16 {
				runtime.Gosched()
				if errs[i] = r.Replay(); errs[i] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.EqualValues(t, 64*16*16, o.buffer("state")[1])
	o.close(r)
}

// Field case RT-02: each call gets its own status and reason.
func TestStatusBelongsToItsCall(t *testing.T) {
	good, bad := openTiny(t), openTiny(t)
	var group sync.WaitGroup
	var wrong atomic.Int64
	group.Go(func() {
		for range 1000 {
			if good.binding.Run(forward) != nil {
				wrong.Add(1)
			}
		}
	})
	group.Go(func() {
		for range 1000 {
			cuda.FailAt(bad.binding, 1)
			if err := bad.binding.Run(forward); err == nil || !strings.Contains(err.Error(), "injected failure") {
				wrong.Add(1)
			}
		}
	})
	group.Wait()
	require.Zero(t, wrong.Load())
	good.close()
	bad.close()
}

// Field case RT-06: ten thousand steps make no thread.
func TestThreadsAreBounded(t *testing.T) {
	o := openTiny(t)
	r, err := o.binding.Record(forward)
	require.NoError(t, err)
	step := func() { require.NoError(t, r.Replay()) }
	step()
	base := threads(t)
	for range 10000 {
		step()
	}
	require.LessOrEqual(t, threads(t), base+16)
	o.close(r)
}

// threads counts the threads of the process.
func threads(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return len(entries)
}

// Field case CT-01: pinned allocations of other threads go on while programs are
// recorded, and neither side fails.
func TestRecordingBesideLoaders(t *testing.T) {
	o := open(t, device.FP32, usual)
	d := openDevice(t, cuda.Options{}) // makes the context current on no other thread
	stop := make(chan struct{})
	done := make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := cuda.OnThread(d, func() error { return cuda.Pinned(1 << 20) }); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 50 {
		recordings := o.record()
		for _, r := range recordings {
			require.NoError(t, r.Close())
		}
	}
	close(stop)
	require.NoError(t, <-done)
	o.close()
	require.NoError(t, d.Close())
}

// Field case CT-02 and doubt 1 of the field cases: what another thread does
// inside a thread-local capture. The back end's own threads wait for the end of
// a capture; foreign code may not. Whatever happens, the recording either stands
// or fails with one error, nothing of the step has run, and the next one works.
func TestForeignSynchronise(t *testing.T) {
	o := open(t, device.FP32, usual)
	stop := make(chan struct{})
	done := make(chan int)
	go func() {
		runtime.LockOSThread()
		failures := 0
		for {
			select {
			case <-stop:
				done <- failures
				return
			default:
			}
			if cuda.SynchronizeContext(o.device) != nil {
				failures++
			}
		}
	}()
	broken := 0
	for range 50 {
		r, err := o.binding.Record(forward)
		if err != nil {
			broken++
			require.False(t, device.IsSticky(err), err)
			continue
		}
		require.NoError(t, r.Close())
	}
	close(stop)
	t.Logf("%d of 50 captures broken, %d synchronisations failed", broken, <-done)
	require.Zero(t, o.buffer("num_batches_tracked")[0], "recording runs nothing")
	recordings := o.record()
	for _, r := range recordings {
		require.NoError(t, r.Replay())
	}
	require.EqualValues(t, 1, o.buffer("num_batches_tracked")[0])
	o.close(recordings...)
}

// Field case CT-04: while one device records, another waits with releasing.
func TestReleaseWaitsForCapture(t *testing.T) {
	first, second := open(t, device.FP32, usual), open(t, device.FP32, usual)
	old := first.record()
	released := make(chan error, 1)
	var order []string
	require.NoError(t, cuda.WhileCapturing(second.device, func() error {
		go func() { released <- old[0].Close() }()
		for range 1000 {
			runtime.Gosched()
		}
		select {
		case err := <-released:
			return fmt.Errorf("released inside a capture: %v", err)
		default:
		}
		order = append(order, "capture")
		return nil
	}))
	require.NoError(t, <-released)
	order = append(order, "release")
	require.Equal(t, []string{"capture", "release"}, order)
	first.close(old[1])
	second.close()
}

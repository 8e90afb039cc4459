//go:build cuda

package cuda_test

import (
	"fmt"
	"os"
	"os/exec"
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

// foreignKey tells the process that TestForeignSynchronise starts what it is for.
const foreignKey = "REPRISE_TEST_FOREIGN"

// Field case CT-02 and the first doubt of the field cases: a thread that is not the
// back end's waits for the whole context all the time, while programs are recorded.
// A recording stands or fails with one error, nothing of the step has run, and the
// next one works. The driver itself may not survive two threads that wait and
// capture at the same moment: driver 580 has died in its cuCtxSynchronize. So this
// runs in a process of its own, and that death is the one that is let pass.
func TestForeignSynchronise(t *testing.T) {
	if os.Getenv(foreignKey) != "" {
		foreignSynchronise(t)
		return
	}
	require.NoError(t, openDevice(t, cuda.Options{}).Close())
	command := exec.Command(os.Args[0], "-test.run=^TestForeignSynchronise$", "-test.v")
	command.Env = append(os.Environ(), foreignKey+"=1")
	out, err := command.CombinedOutput()
	if err != nil && strings.Contains(string(out), "SIGSEGV") && strings.Contains(string(out), "cuCtxSynchronize") {
		t.Log("the driver died in cuCtxSynchronize of the other thread")
		return
	}
	require.NoError(t, err, string(out))
	t.Log(string(out))
}

func foreignSynchronise(t *testing.T) {
	o := open(t, device.FP32, usual)
	stop := make(chan struct{})
	done := make(chan error)
	failures := 0
	go func() {
		runtime.LockOSThread()
		done <- cuda.Foreign(o.device, func(synchronize func() error) {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if synchronize() != nil {
					failures++
				}
			}
		})
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
	require.NoError(t, <-done)
	t.Logf("%d of 50 captures broken, %d waits failed", broken, failures)
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

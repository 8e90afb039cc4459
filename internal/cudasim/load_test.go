package cudasim_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

func openHost() (device.Device, error) { return host.Open(host.Options{}), nil }

// scaled is how much of a load test runs: a share of the whole by default, all of
// it when CUDASIM_LOAD is set.
func scaled(share, whole int) int {
	if os.Getenv("CUDASIM_LOAD") != "" {
		return whole
	}
	return share
}

// usage is what the process holds.
type usage struct {
	heap     int // KiB of the Go heap
	resident int // KiB of memory, of C code too
	threads  int
}

// used tells what the process holds after a collection.
func used(t *testing.T) usage {
	t.Helper()
	debug.FreeOSMemory() // collects garbage
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{int(m.HeapAlloc >> 10), ofProcess(t, "VmRSS:"), ofProcess(t, "Threads:")}
}

// ofProcess reads one number of what the system tells about the process.
func ofProcess(t *testing.T, name string) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, name); found {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(text), " kB"))
			require.NoError(t, err)
			return n
		}
	}
	t.Fatalf("the system does not tell %s", name)
	return 0
}

// constant fails when the process holds more than before. The Go runtime starts
// threads when it likes, and fragments of its heap stay resident.
func constant(t *testing.T, before usage) {
	t.Helper()
	after := used(t)
	t.Logf("heap %d to %d KiB, resident %d to %d KiB, threads %d to %d",
		before.heap, after.heap, before.resident, after.resident, before.threads, after.threads)
	require.Less(t, after.heap, before.heap+1<<10)
	require.Less(t, after.resident, before.resident+16<<10)
	require.LessOrEqual(t, after.threads, before.threads+16)
}

// manyFits runs fits one after another in one process (field case LC-03).
func manyFits(t *testing.T, fits int, open func() (device.Device, error)) {
	t.Helper()
	c := trial{steps: 5, batch: 2, pixels: 16, capture: true}
	first, err := c.run(open)
	require.NoError(t, err)
	require.Positive(t, first.report.Replayed)
	before := used(t)
	for range fits {
		out, err := c.run(open)
		require.NoError(t, err)
		require.Equal(t, first, out)
	}
	constant(t, before)
}

// busy runs a fit beside 64 goroutines that allocate, yield and collect garbage
// (field cases RT-01, RT-05, RT-06, RT-07).
func busy(t *testing.T, open func() (device.Device, error)) {
	t.Helper()
	c := trial{steps: 4, batch: 2, pixels: 16, capture: true}
	want, err := c.run(open)
	require.NoError(t, err)
	before := used(t)
	done := make(chan struct{})
	var others sync.WaitGroup
	for i := range 64 {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				_ = make([]byte, 1<<12)
				if i == 0 {
					runtime.GC()
				}
				runtime.Gosched()
			}
		})
	}
	got, err := c.run(open)
	close(done)
	others.Wait()
	require.NoError(t, err)
	require.Equal(t, want, got)
	constant(t, before)
}

// twoFits runs two fits one after the other on one open device: the second
// records afresh (contract I8).
func twoFits(t *testing.T, open func() (device.Device, error)) {
	t.Helper()
	d, err := open()
	require.NoError(t, err)
	c := trial{steps: 3, batch: 2, pixels: 16, capture: true}
	first, err := c.on(d)
	require.NoError(t, err)
	require.Zero(t, d.Counters().Recordings)
	require.Zero(t, d.Counters().Bytes)
	second, err := c.on(d)
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.NoError(t, d.Close())
}

// manyReplays replays one recording and looks at memory and bytes.
func manyReplays(t *testing.T, replays int, open func() (device.Device, error)) {
	t.Helper()
	d, err := open()
	require.NoError(t, err)
	plan, err := small.Plan()
	require.NoError(t, err)
	s, err := d.Load(plan, device.FP32)
	require.NoError(t, err)
	for i, p := range plan.Parameters {
		require.NoError(t, s.Parameter(i).WriteFloat32(values(uint64(i), device.Elements(p.Shape))))
	}
	b, err := s.Bind(ir.Sizes{Batch: 1, Height: 16, Width: 16})
	require.NoError(t, err)
	require.NoError(t, b.Input(0).WriteFloat32(values(1, 3*16*16)))
	// Evaluation does not move statistics, so that every replay gives the same.
	r, err := b.Record(device.Forward(ir.Eval))
	require.NoError(t, err)
	read := func() []float32 {
		v := make([]float32, device.Elements(b.Output(0).Shape()))
		require.NoError(t, b.Output(0).ReadFloat32(v))
		return v
	}
	require.NoError(t, r.Replay())
	want, before, bytes := read(), used(t), d.Counters().Bytes
	for i := range replays {
		require.NoError(t, r.Replay())
		if i%100 == 0 {
			require.Equal(t, want, read())
		}
	}
	require.Equal(t, want, read())
	require.Equal(t, bytes, d.Counters().Bytes)
	require.EqualValues(t, replays+1, d.Counters().GraphLaunches)
	constant(t, before)
	require.NoError(t, r.Close())
	require.NoError(t, b.Close())
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}

func TestHostManyFits(t *testing.T)    { manyFits(t, scaled(20, 200), openHost) }
func TestHostBusy(t *testing.T)        { busy(t, openHost) }
func TestHostTwoFits(t *testing.T)     { twoFits(t, openHost) }
func TestHostManyReplays(t *testing.T) { manyReplays(t, scaled(500, 10000), openHost) }

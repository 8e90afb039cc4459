//go:build cuda

package cudasim_test

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/cudasim"
	"github.com/reprise-ml/reprise/internal/cudasim/probe"
	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/device"
)

// elsewhere runs a call on another thread with the context current.
func elsewhere(c probe.Context, call func() cudasim.Status) cudasim.Status {
	result := make(chan cudasim.Status)
	go func() {
		runtime.LockOSThread()
		probe.Bind(c)
		result <- call()
		probe.Bind(nil)
		runtime.UnlockOSThread()
	}()
	return <-result
}

// capturing is a stream in a thread-local capture.
type capturing struct {
	*testing.T
	context       probe.Context
	stream, other probe.Stream
	event         probe.Event
	memory        probe.Address
	graph         probe.Graph
	exec          probe.Exec
}

// captureRule runs a step inside a capture, then the end, on a driver or on the
// simulator, which must agree.
func captureRule(t *testing.T, step func(*capturing) cudasim.Status) (during, end cudasim.Status) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := &capturing{T: t}
	var s cudasim.Status
	c.context, s = probe.Open()
	require.Zero(t, s)
	c.stream, s = probe.NewStream()
	require.Zero(t, s)
	c.other, s = probe.NewStream()
	require.Zero(t, s)
	c.event, s = probe.NewEvent()
	require.Zero(t, s)
	c.memory, s = probe.Alloc(1024)
	require.Zero(t, s)
	require.Zero(t, probe.Record(c.event, c.other))
	require.Zero(t, probe.Begin(c.stream, probe.ThreadLocal))
	require.Zero(t, probe.Fill(c.memory, 1, 1024, c.stream))
	c.graph, s = probe.End(c.stream)
	require.Zero(t, s)
	c.exec, s = probe.Instantiate(c.graph)
	require.Zero(t, s)
	require.Zero(t, probe.Begin(c.stream, probe.ThreadLocal))
	require.Zero(t, probe.Fill(c.memory, 1, 1024, c.stream))
	during = step(c)
	g, end := probe.End(c.stream)
	if end == success {
		require.Zero(t, probe.DestroyGraph(g))
	}
	probe.End(c.other) // another capture may be left by a step
	require.Zero(t, probe.Fill(c.memory, 2, 1024, c.stream), "the stream works again")
	require.Zero(t, probe.Wait(c.stream))
	if c.exec != nil {
		require.Zero(t, probe.DestroyExec(c.exec))
	}
	require.Zero(t, probe.DestroyGraph(c.graph))
	require.Zero(t, probe.Free(c.memory))
	require.Zero(t, probe.DestroyEvent(c.event))
	require.Zero(t, probe.DestroyStream(c.other))
	require.Zero(t, probe.DestroyStream(c.stream))
	require.Zero(t, probe.Close(c.context))
	if cudasim.Present() {
		require.Empty(t, cudasim.Alive())
		cudasim.ClearReports()
	}
	return during, end
}

// rules are what the driver answers during a capture in the thread-local mode.
var rules = []struct {
	name        string
	during, end cudasim.Status
	step        func(*capturing) cudasim.Status
}{
	{"nothing", success, success, func(*capturing) cudasim.Status { return success }},
	{"allocation", unsupported, invalidated, func(c *capturing) cudasim.Status {
		_, s := probe.Alloc(16)
		return s
	}},
	{"allocation on another thread", success, success, func(c *capturing) cudasim.Status {
		return elsewhere(c.context, func() cudasim.Status {
			a, s := probe.Alloc(16)
			if s == success {
				s = probe.Free(a)
			}
			return s
		})
	}},
	{"wait for the stream", unsupported, invalidated, func(c *capturing) cudasim.Status { return probe.Wait(c.stream) }},
	{"query of the stream", unsupported, invalidated, func(c *capturing) cudasim.Status { return probe.Query(c.stream) }},
	{"wait for the context", unsupported, invalidated, func(c *capturing) cudasim.Status { return probe.Synchronize() }},
	{"wait for the context on another thread", unsupported, invalidated, func(c *capturing) cudasim.Status {
		return elsewhere(c.context, probe.Synchronize)
	}},
	{"event recorded outside", isolation, invalidated, func(c *capturing) cudasim.Status { return probe.Follow(c.stream, c.event) }},
	{"query of a captured event", capturedEvent, invalidated, func(c *capturing) cudasim.Status {
		require.Zero(c, probe.Record(c.event, c.stream))
		return probe.AskEvent(c.event)
	}},
	{"fork with work that is not joined", success, unjoined, func(c *capturing) cudasim.Status {
		require.Zero(c, probe.Record(c.event, c.stream))
		require.Zero(c, probe.Follow(c.other, c.event))
		return probe.Fill(c.memory, 3, 16, c.other)
	}},
	{"fork and join", success, success, func(c *capturing) cudasim.Status {
		require.Zero(c, probe.Record(c.event, c.stream))
		require.Zero(c, probe.Follow(c.other, c.event))
		require.Zero(c, probe.Fill(c.memory, 3, 16, c.other))
		require.Zero(c, probe.Record(c.event, c.other))
		return probe.Follow(c.stream, c.event)
	}},
	{"end on another thread", wrongThread, illegalState, func(c *capturing) cudasim.Status {
		return elsewhere(c.context, func() cudasim.Status {
			_, s := probe.End(c.stream)
			return s
		})
	}},
	{"fork without work", success, success, func(c *capturing) cudasim.Status {
		require.Zero(c, probe.Record(c.event, c.stream))
		return probe.Follow(c.other, c.event)
	}},
	{"event that was never recorded", success, success, func(c *capturing) cudasim.Status {
		e, s := probe.NewEvent()
		require.Zero(c, s)
		during := probe.Follow(c.stream, e)
		require.Zero(c, probe.DestroyEvent(e))
		return during
	}},
	{"stream made and ended", success, success, func(c *capturing) cudasim.Status {
		st, s := probe.NewStream()
		if s == success {
			s = probe.DestroyStream(st)
		}
		return s
	}},
	{"memory freed", unsupported, invalidated, func(c *capturing) cudasim.Status {
		a := c.memory
		s := probe.Free(a)
		if s == success {
			c.memory = 0
		}
		return s
	}},
	{"executable graph destroyed", unsupported, invalidated, func(c *capturing) cudasim.Status {
		e := c.exec
		c.exec = nil
		return probe.DestroyExec(e)
	}},
	{"executable graph destroyed on another thread", success, success, func(c *capturing) cudasim.Status {
		e := c.exec
		c.exec = nil
		return elsewhere(c.context, func() cudasim.Status { return probe.DestroyExec(e) })
	}},
	{"executable graph launched into the capture", unsupported, invalidated, func(c *capturing) cudasim.Status {
		return probe.Run(c.exec, c.stream)
	}},
	{"graph instantiated", unsupported, invalidated, func(c *capturing) cudasim.Status {
		e, s := probe.Instantiate(c.graph)
		if s == success {
			s = probe.DestroyExec(e)
		}
		return s
	}},
	{"event of a capture that has ended", invalidValue, success, func(c *capturing) cudasim.Status {
		require.Zero(c, probe.Begin(c.other, probe.ThreadLocal))
		require.Zero(c, probe.Record(c.event, c.other))
		g, s := probe.End(c.other)
		require.Zero(c, s)
		require.Zero(c, probe.DestroyGraph(g))
		return probe.Follow(c.other, c.event)
	}},
	{"two captures merged", merged, invalidated, func(c *capturing) cudasim.Status {
		require.Zero(c, probe.Begin(c.other, probe.ThreadLocal))
		require.Zero(c, probe.Record(c.event, c.other))
		return probe.Follow(c.stream, c.event)
	}},
	{"end of the wrong stream", unmatched, invalidated, func(c *capturing) cudasim.Status {
		require.Zero(c, probe.Record(c.event, c.stream))
		require.Zero(c, probe.Follow(c.other, c.event))
		_, s := probe.End(c.other)
		return s
	}},
	{"capture begun twice", illegalState, success, func(c *capturing) cudasim.Status {
		return probe.Begin(c.stream, probe.ThreadLocal)
	}},
	{"work after a broken call", invalidated, invalidated, func(c *capturing) cudasim.Status {
		probe.Wait(c.stream)
		return probe.Fill(c.memory, 3, 16, c.stream)
	}},
}

// Field cases CT-01, CT-02, CT-09, LC-02: what is legal in a capture, and how it
// ends. The same table holds on a driver.
func TestCaptureRules(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			during, end := captureRule(t, r.step)
			require.Equal(t, [2]cudasim.Status{r.during, r.end}, [2]cudasim.Status{during, end}, "during the capture and at its end")
		})
	}
}

// Calls of a thread that has no context are refused (field case RT-01).
func TestThreadWithoutContext(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, s := probe.Open()
	require.Zero(t, s)
	require.Equal(t, invalidContext, elsewhere(nil, func() cudasim.Status {
		_, s := probe.Alloc(16)
		return s
	}))
	if cudasim.Present() {
		require.Contains(t, cudasim.Reports(), "cuMemAlloc: no context is current on this thread")
		cudasim.ClearReports()
	}
	require.Zero(t, probe.Close(c))
}

// The first doubt of the field cases: what another thread may do while a stream is
// captured in the thread-local mode. Everything leaves the capture alone but a
// wait for the whole context, which fails and breaks it, and calls about the very
// stream or event that is captured.
func TestForeignCalls(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails bool
		call  func(*capturing) cudasim.Status
	}{
		{"pinned memory taken and given back", false, func(*capturing) cudasim.Status { return probe.Pinned(1 << 20) }},
		{"device memory taken and given back", false, func(*capturing) cudasim.Status {
			a, s := probe.Alloc(1 << 20)
			if s == success {
				s = probe.Free(a)
			}
			return s
		}},
		{"stream made, filled, waited for and ended", false, func(c *capturing) cudasim.Status {
			st, s := probe.NewStream()
			require.Zero(c, s)
			a, s := probe.Alloc(1024)
			require.Zero(c, s)
			require.Zero(c, probe.Fill(a, 1, 1024, st))
			require.Zero(c, probe.Wait(st))
			require.Zero(c, probe.Free(a))
			return probe.DestroyStream(st)
		}},
		{"event of another stream recorded and asked", false, func(c *capturing) cudasim.Status {
			require.Zero(c, probe.Record(c.event, c.other))
			require.Zero(c, probe.Wait(c.other))
			return probe.AskEvent(c.event)
		}},
		{"wait for the context", true, func(*capturing) cudasim.Status { return probe.Synchronize() }},
		{"wait for the captured stream", true, func(c *capturing) cudasim.Status { return probe.Wait(c.stream) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			during, end := captureRule(t, func(k *capturing) cudasim.Status {
				return elsewhere(k.context, func() cudasim.Status { return c.call(k) })
			})
			t.Logf("status %d on the other thread, %d at the end of the capture", during, end)
			if c.fails {
				require.Equal(t, [2]cudasim.Status{unsupported, invalidated}, [2]cudasim.Status{during, end})
			} else {
				require.Equal(t, [2]cudasim.Status{success, success}, [2]cudasim.Status{during, end})
			}
		})
	}
}

// The second doubt of the field cases: a graph that is destroyed while it runs is
// finished first, and the call does not wait for it. The back end waits all the
// same, since what the graph works on is freed next (field case LC-04).
func TestDestroyRunningGraph(t *testing.T) {
	if cudasim.Present() {
		t.Skip("work of the simulator runs when it is waited for")
	}
	const fills, elements = 200, 64 << 20
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, s := probe.Open()
	require.Zero(t, s)
	st, s := probe.NewStream()
	require.Zero(t, s)
	a, s := probe.Alloc(4 * elements)
	require.Zero(t, s)
	require.Zero(t, probe.Begin(st, probe.ThreadLocal))
	for i := range fills {
		require.Zero(t, probe.Fill(a, byte(i), 4*elements, st))
	}
	g, s := probe.End(st)
	require.Zero(t, s)
	for range 3 {
		e, s := probe.Instantiate(g)
		require.Zero(t, s)
		start := time.Now()
		require.Zero(t, probe.Run(e, st))
		launched := time.Since(start)
		require.Zero(t, probe.DestroyExec(e))
		destroyed := time.Since(start)
		busy := probe.Query(st)
		require.Zero(t, probe.Wait(st))
		t.Logf("launched after %v, destroyed after %v (stream %d), finished after %v", launched, destroyed, busy, time.Since(start))
		got := make([]float32, 1)
		require.Zero(t, probe.Read(got, a+probe.Address(4*(elements-1))))
		last := byte((fills - 1) % 256)
		require.Equal(t, uint32(last)*0x01010101, math.Float32bits(got[0]), "the last node ran")
	}
	require.Zero(t, probe.DestroyGraph(g))
	require.Zero(t, probe.Free(a))
	require.Zero(t, probe.DestroyStream(st))
	require.Zero(t, probe.Close(c))
}

// Field case CG-17: a module that the driver refuses is one error before anything
// runs, which says what to install, and nothing is left.
func TestModuleIsRefused(t *testing.T) {
	needSimulator(t)
	plan, err := small.FirstPlan()
	require.NoError(t, err)
	for status, want := range map[cudasim.Status]string{
		222: "cannot be loaded on simulated CUDA device, compute capability 9.0; install a newer driver, or build the image with an older toolkit",
		209: "compute capability 8.0 is the least that kernels are written for",
	} {
		d, err := openCUDA()
		require.NoError(t, err)
		cudasim.Plan(cudasim.Fault{Call: "cuModuleLoadData", K: 1, Status: status})
		_, err = d.Load(plan, device.FP32)
		require.ErrorContains(t, err, want)
		require.True(t, cudasim.Happened())
		s, err := d.Load(plan, device.FP32)
		require.NoError(t, err, "the next one is taken")
		require.NoError(t, s.Close())
		require.NoError(t, d.Close())
		require.Empty(t, cudasim.Alive())
		cudasim.Plan(cudasim.Fault{})
	}
}

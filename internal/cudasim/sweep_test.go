//go:build cuda

package cudasim_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/cudasim"
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
)

func openCUDA() (device.Device, error) { return cuda.Open(cuda.Options{}) }

// short is a fit with set-up, recording, a partial batch, replay and release.
var short = trial{steps: 3, batch: 2, pixels: 16, capture: true}

// within fails a test when a fit hangs.
func within(t *testing.T, run func() (outcome, error)) (outcome, error) {
	t.Helper()
	type both struct {
		outcome
		err error
	}
	done := make(chan both, 1)
	go func() {
		o, err := run()
		done <- both{o, err}
	}()
	select {
	case b := <-done:
		return b.outcome, b.err
	case <-time.After(2 * time.Minute):
		t.Fatal("the fit hangs")
		return outcome{}, nil
	}
}

// sound checks that a fit left nothing and that the simulator saw no fault.
func sound(t *testing.T) {
	t.Helper()
	require.Empty(t, cudasim.Alive())
	require.Zero(t, cudasim.MemoryUsed())
	require.Empty(t, cudasim.Reports())
}

// aliveNothing is sound where the program may also run on a driver.
func aliveNothing(t *testing.T) {
	t.Helper()
	if cudasim.Present() {
		sound(t)
	}
}

// tally counts outcomes by the call that failed.
type tally map[string]map[string]int

func (c tally) add(call, outcome string) {
	if c[call] == nil {
		c[call] = map[string]int{}
	}
	c[call][outcome]++
}

// outcomes are the columns of the table: the fault never came because the fit
// made fewer calls; the fit ended natively or replayed with the right bytes; it
// ended with an error.
var outcomes = []string{"not reached", "equal, native", "equal, replayed", "error"}

func (c tally) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "call\t"+strings.Join(outcomes, "\t"))
	var calls []string
	for call := range c {
		calls = append(calls, call)
	}
	slices.Sort(calls)
	for _, call := range calls {
		fmt.Fprint(w, call)
		for _, o := range outcomes {
			fmt.Fprintf(w, "\t%d", c[call][o])
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String()
}

// injected are the calls of the back end and what each may fail with.
var injected = []struct {
	call   string
	status cudasim.Status
}{
	{"cuDriverGetVersion", 999}, {"cuDeviceGetCount", 999}, {"cuDeviceGet", 101}, {"cuDeviceGetName", 999}, {"cuDeviceGetAttribute", 999},
	{"cuDevicePrimaryCtxRetain", outOfMemory}, {"cuCtxSetCurrent", invalidContext},
	{"cuModuleLoadData", 222}, {"cuModuleGetFunction", notFound}, {"cuFuncSetAttribute", invalidValue}, {"cuMemGetInfo", 999},
	{"cuMemAlloc", outOfMemory}, {"cuMemHostAlloc", outOfMemory}, {"cuStreamCreate", outOfMemory}, {"cuEventCreate", outOfMemory},
	{"cuMemsetD8Async", invalidValue}, {"cuMemcpyHtoDAsync", invalidValue}, {"cuMemcpyDtoHAsync", invalidValue}, {"cuMemcpyDtoDAsync", invalidValue},
	{"cuLaunchKernelEx", 701}, {"cuEventRecord", invalidHandle}, {"cuStreamWaitEvent", invalidHandle}, {"cuStreamSynchronize", 999},
	{"cuStreamBeginCapture", illegalState}, {"cuStreamEndCapture", invalidated}, {"cuGraphGetNodes", invalidValue}, {"cuGraphNodeGetType", invalidValue},
	{"cuGraphInstantiateWithFlags", outOfMemory}, {"cuGraphUpload", outOfMemory}, {"cuGraphLaunch", outOfMemory},
	{"cuGraphDestroy", invalidValue}, {"cuGraphExecDestroy", invalidValue}, {"cuEventDestroy", invalidHandle}, {"cuStreamDestroy", invalidHandle},
	{"cuMemFree", invalidValue}, {"cuMemFreeHost", invalidValue}, {"cuModuleUnload", invalidHandle}, {"cuDevicePrimaryCtxRelease", invalidContext},
}

// some chooses which of n calls to make fail: the first and the last ones, and
// some between; all when CUDASIM_FULL is set.
func some(n int) []int {
	if os.Getenv("CUDASIM_FULL") != "" || n <= 4 {
		all := make([]int, n)
		for i := range all {
			all[i] = i + 1
		}
		return all
	}
	return []int{1, n / 3, 2 * n / 3, n}
}

// callsOf counts the calls of a fit by entry point, and checks that it makes no
// call that the sweep does not know of.
func callsOf(t *testing.T) map[string]int {
	t.Helper()
	before := map[string]int{}
	for _, c := range injected {
		before[c.call] = cudasim.Calls(c.call)
	}
	cudasim.Plan(cudasim.Fault{})
	_, err := short.run(openCUDA)
	require.NoError(t, err)
	all, known, calls := cudasim.CallsSincePlan(), 0, map[string]int{}
	for call, n := range before {
		calls[call] = cudasim.Calls(call) - n
		known += calls[call]
	}
	require.Equal(t, all, known, "calls of a fit that the sweep leaves out")
	return calls
}

// inject runs the short fit with a fault and judges what came of it. It goes on
// after a failure, so that one run of the sweep shows all.
func inject(t *testing.T, want string, f cudasim.Fault) string {
	t.Helper()
	cudasim.ClearReports()
	cudasim.Plan(f)
	got, err := within(t, func() (outcome, error) { return short.run(openCUDA) })
	happened := cudasim.Happened()
	cudasim.Plan(cudasim.Fault{})
	check := assert.New(t)
	check.Empty(cudasim.Alive(), "%+v", f)
	check.Zero(cudasim.MemoryUsed(), "%+v", f)
	check.Empty(cudasim.Reports(), "%+v: %v", f, err)
	if err != nil {
		check.True(happened, "an error without a fault: %v", err)
		return "error"
	}
	if want != "" {
		check.Equal(want, got.digest, "%+v", f)
	}
	switch {
	case !happened:
		return "not reached"
	case got.report.Replayed > 0:
		return "equal, replayed"
	}
	check.NotEmpty(got.report.Reasons, "%+v: a native call without a reason", f)
	return "equal, native"
}

// Field cases LC-01, LC-02, LC-12, CG-17: whatever call fails, the fit goes on
// natively and ends with the native run's bytes, or returns an error; it never
// hangs and leaves nothing alive, and the next fit records.
func TestEveryCallCanFail(t *testing.T) {
	needSimulator(t)
	calls := callsOf(t)
	native := short
	native.capture = false
	reference, err := native.run(openCUDA)
	require.NoError(t, err)
	table := tally{}
	for _, c := range injected {
		for _, k := range some(calls[c.call]) {
			outcome := inject(t, reference.digest, cudasim.Fault{Call: c.call, K: k, Status: c.status})
			table.add(c.call, outcome)
		}
	}
	t.Logf("calls made to fail, by outcome\n%s", table)
	again, err := short.run(openCUDA)
	require.NoError(t, err)
	require.Equal(t, reference.digest, again.digest)
	require.Equal(t, 2, again.report.Replayed, "a later fit records")
}

// exhaustible are the calls that take memory of the device or the host.
var exhaustible = []string{
	"cuDevicePrimaryCtxRetain", "cuModuleLoadData", "cuMemAlloc", "cuMemHostAlloc", "cuStreamCreate", "cuEventCreate",
	"cuLaunchKernelEx", "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphUpload", "cuGraphLaunch",
}

// Whatever call finds no memory, the fit goes on natively and ends with the native
// run's bytes, or returns an error.
func TestEveryCallCanRunOutOfMemory(t *testing.T) {
	needSimulator(t)
	calls := callsOf(t)
	reference, err := short.run(openCUDA)
	require.NoError(t, err)
	table := tally{}
	for _, call := range exhaustible {
		for _, k := range some(calls[call]) {
			table.add(call, inject(t, reference.digest, cudasim.Fault{Call: call, K: k, Status: outOfMemory}))
		}
	}
	t.Logf("calls without memory, by outcome\n%s", table)
	_, err = short.run(openCUDA)
	require.NoError(t, err, "the next fit of the process works")
}

// trusting are the calls that report what an earlier kernel did wrong.
var trusting = []string{
	"cuMemAlloc", "cuMemHostAlloc", "cuStreamCreate", "cuEventCreate", "cuMemsetD8Async", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync",
	"cuLaunchKernelEx", "cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize",
	"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphUpload", "cuGraphLaunch", "cuGraphExecDestroy", "cuMemFree",
}

// An error after which the device cannot be trusted ends the fit.
func TestStickyErrorEndsTheFit(t *testing.T) {
	needSimulator(t)
	calls := callsOf(t)
	table := tally{}
	for _, call := range trusting {
		for _, k := range some(calls[call]) {
			outcome := inject(t, "", cudasim.Fault{Call: call, K: k, Status: illegalAddress})
			assert.Equal(t, "error", outcome, "%s, call %d", call, k)
			table.add(call, outcome)
		}
	}
	t.Logf("sticky errors, by outcome\n%s", table)
	_, err := short.run(openCUDA)
	require.NoError(t, err, "the next fit of the process works")
}

// A fit that is given up after any operation leaves nothing.
func TestStoppedAnywhere(t *testing.T) {
	needSimulator(t)
	for stop := 1; stop <= 4*short.steps; stop++ {
		c := short
		c.stop = stop
		out, err := within(t, func() (outcome, error) { return c.run(openCUDA) })
		require.NoError(t, err)
		require.True(t, out.stopped)
		sound(t)
	}
}

// Memory of every size that is too small for the fit gives one error, or natively
// equal bytes where only the recording had no room.
func TestOutOfMemory(t *testing.T) {
	needSimulator(t)
	reference, err := short.run(openCUDA)
	require.NoError(t, err)
	for _, bytes := range []string{"1", "4096", "100000", "300000", "600000", "1200000"} {
		t.Run(bytes, func(t *testing.T) {
			t.Setenv("CUDASIM_MEMORY", bytes)
			cudasim.ClearReports()
			out, err := within(t, func() (outcome, error) { return short.run(openCUDA) })
			sound(t)
			if err == nil {
				require.Equal(t, reference.digest, out.digest)
			} else {
				require.ErrorContains(t, err, "use a smaller batch or image")
			}
		})
	}
}

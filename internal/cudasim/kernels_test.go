//go:build cuda

package cudasim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/cudasim"
	"github.com/reprise-ml/reprise/internal/cudasim/probe"
)

// Statuses that the tests name.
const (
	success        = cudasim.Status(0)
	invalidValue   = cudasim.Status(1)
	outOfMemory    = cudasim.Status(2)
	invalidContext = cudasim.Status(201)
	invalidHandle  = cudasim.Status(400)
	illegalState   = cudasim.Status(401)
	notFound       = cudasim.Status(500)
	illegalAddress = cudasim.Status(700)
	misaligned     = cudasim.Status(716)
	launchFailed   = cudasim.Status(719)
	unsupported    = cudasim.Status(900)
	invalidated    = cudasim.Status(901)
	merged         = cudasim.Status(902)
	unmatched      = cudasim.Status(903)
	unjoined       = cudasim.Status(904)
	isolation      = cudasim.Status(905)
	capturedEvent  = cudasim.Status(907)
	wrongThread    = cudasim.Status(908)
)

// needSimulator skips a test that is about the simulator when a driver is there.
func needSimulator(t *testing.T) {
	t.Helper()
	if !cudasim.Present() {
		t.Skip("the program runs on a driver, not on the simulator")
	}
}

// image compiles the kernels of the tests once.
func image(t *testing.T) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "kernels.fatbin")
	command := exec.Command("go", "run", "./nvcc", "-fatbin", "testdata/kernels.cu", "-o", out)
	message, err := command.CombinedOutput()
	require.NoError(t, err, string(message))
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	return data
}

// rig is a context with the test kernels on a locked thread.
type rig struct {
	*testing.T
	context probe.Context
	module  probe.Module
	stream  probe.Stream
	memory  []probe.Address
}

func (r *rig) alloc(bytes int) probe.Address {
	r.Helper()
	a, s := probe.Alloc(bytes)
	require.Zero(r, s)
	r.memory = append(r.memory, a)
	return a
}

func (r *rig) launch(name string, blocks int, a probe.Argument) cudasim.Status {
	r.Helper()
	f, s := probe.Find(r.module, name)
	require.Zero(r, s)
	if s := probe.Launch(f, blocks, 128, 512, r.stream, a); s != success {
		return s
	}
	return probe.Wait(r.stream)
}

// with runs a test in a context of its own, and gives what was reported.
func with(t *testing.T, data []byte, body func(*rig)) string {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cudasim.ClearReports()
	r := &rig{T: t}
	var s cudasim.Status
	r.context, s = probe.Open()
	require.Zero(t, s)
	r.module, s = probe.Load(data)
	require.Zero(t, s)
	r.stream, s = probe.NewStream()
	require.Zero(t, s)
	body(r)
	found := cudasim.Reports()
	for _, a := range r.memory {
		probe.Free(a)
	}
	probe.DestroyStream(r.stream)
	probe.Unload(r.module)
	require.Zero(t, probe.Close(r.context))
	require.Empty(t, cudasim.Alive())
	cudasim.ClearReports()
	return found
}

// Sound kernels give the right values and no report.
func TestSoundKernels(t *testing.T) {
	needSimulator(t)
	data := image(t)
	found := with(t, data, func(r *rig) {
		a, b := r.alloc(4*1000), r.alloc(4*1000)
		require.Zero(r, r.launch("iota", 8, probe.Argument{To: a, N: 1000}))
		require.Zero(r, r.launch("copy", 8, probe.Argument{From: a, To: b, N: 1000}))
		got := make([]float32, 1000)
		require.Zero(r, probe.Read(got, b))
		for i, x := range got {
			require.EqualValues(r, i, x)
		}
		require.Zero(r, r.launch("sum", 1, probe.Argument{From: a, To: b}))
		require.Zero(r, probe.Read(got[:1], b))
		require.EqualValues(r, 127*128/2, got[0])
		require.Zero(r, r.launch("sum_of_warp", 1, probe.Argument{From: a, To: b}))
		require.Zero(r, probe.Read(got[:128], b))
		require.EqualValues(r, 31*32/2, got[0])
		require.EqualValues(r, 31*32/2+32*32, got[63])
		require.Zero(r, r.launch("asynchronous", 1, probe.Argument{From: a, To: b, N: 1}))
		require.Zero(r, probe.Read(got[:128], b))
		require.EqualValues(r, 4*127, got[127])
		require.Zero(r, r.launch("dynamic", 1, probe.Argument{To: b}))
		require.Zero(r, probe.Read(got[:128], b))
		require.EqualValues(r, 127, got[0])
	})
	require.Empty(t, found)
}

// Dynamic shared memory has the size that the launch asks for, and more than 48
// KiB after the kernel's limit has been raised, up to what every device allows.
func TestDynamicSharedMemory(t *testing.T) {
	needSimulator(t)
	data := image(t)
	const bytes = 80 << 10
	ask := func(r *rig, f probe.Function, to probe.Address, bytes int, n int64) cudasim.Status {
		if s := probe.Launch(f, 1, 128, bytes, r.stream, probe.Argument{To: to, N: n}); s != success {
			return s
		}
		return probe.Wait(r.stream)
	}
	require.Empty(t, with(t, data, func(r *rig) {
		to := r.alloc(4 * 128)
		f, s := probe.Find(r.module, "dynamic")
		require.Zero(r, s)
		require.Equal(r, invalidValue, ask(r, f, to, bytes, bytes/4), "the limit has not been raised")
		require.Equal(r, invalidValue, probe.AllowShared(f, 100<<10), "more than every device has")
		require.Zero(r, probe.AllowShared(f, bytes))
		require.Zero(r, ask(r, f, to, bytes, bytes/4))
		require.Equal(r, invalidValue, ask(r, f, to, bytes+16, 0), "above the limit")
	}))
	found := with(t, data, func(r *rig) {
		to := r.alloc(4 * 128)
		f, s := probe.Find(r.module, "dynamic")
		require.Zero(r, s)
		require.Equal(r, illegalAddress, ask(r, f, to, 1024, 257))
	})
	require.Contains(t, found, "belongs to no variable")
}

// Each kind of fault in a kernel is found, and the report names the kernel.
func TestFaultyKernels(t *testing.T) {
	needSimulator(t)
	data := image(t)
	for _, c := range []struct {
		kernel string
		n      int64
		status cudasim.Status
		report string
	}{
		{"sum_without_barrier", 0, success, "kernel sum_without_barrier, block (0, 0, 0), thread"},
		{"past_the_end", 100, illegalAddress, "writes 4 bytes at byte 400 of allocation"},
		{"blocks_meet", 200, success, "writes what another block of the launch has written"},
		{"misaligned", 0, misaligned, "is no multiple of that"},
		{"barrier_of_half", 0, success, "waits for a barrier that 64 threads of the block, which have ended, do not reach"},
		{"warp_of_half", 0, launchFailed, "lanes of their warp that never come"},
		{"shared_past_the_end", 3, illegalAddress, "belongs to no variable"},
		{"asynchronous", 0, success, "before an asynchronous copy to it has been waited for"},
		{"copy", 100, success, "that were never written"},
	} {
		t.Run(c.kernel, func(t *testing.T) {
			found := with(t, data, func(r *rig) {
				from, to := r.alloc(4*512), r.alloc(4*100)
				if c.kernel == "misaligned" || c.kernel == "asynchronous" || c.kernel == "sum_without_barrier" {
					require.Zero(r, r.launch("iota", 4, probe.Argument{To: from, N: 512}))
				}
				if c.kernel == "blocks_meet" || c.kernel == "barrier_of_half" || c.kernel == "asynchronous" || c.kernel == "warp_of_half" {
					to = r.alloc(4 * 256)
				}
				require.Equal(r, c.status, r.launch(c.kernel, 1+int(c.n)/128, probe.Argument{From: from, To: to, N: c.n}))
				if c.status == illegalAddress {
					require.Equal(r, illegalAddress, probe.Synchronize(), "the error is sticky")
				}
			})
			require.Contains(t, found, "kernel "+c.kernel)
			require.Contains(t, found, c.report)
		})
	}
}

// A kernel that may start early waits for the launch before, in every thread and
// before it touches memory.
func TestEarlyLaunches(t *testing.T) {
	needSimulator(t)
	data := image(t)
	for kernel, report := range map[string]string{
		"add_one_after": "",
		"add_one":       "kernel add_one, block (0, 0, 0), thread (0, 0, 0): reads before it has waited for the launch before",
		"some_after":    "kernel some_after, block (0, 0, 0), thread (100, 0, 0): ends without having waited for the launch before",
	} {
		t.Run(kernel, func(t *testing.T) {
			found := with(t, data, func(r *rig) {
				to := r.alloc(4 * 100)
				require.Zero(r, r.launch("iota", 1, probe.Argument{To: to, N: 100}))
				f, s := probe.Find(r.module, kernel)
				require.Zero(r, s)
				require.Zero(r, probe.LaunchEarly(f, 1, 128, r.stream, probe.Argument{To: to, N: 100}))
				require.Zero(r, probe.Wait(r.stream))
				got := make([]float32, 100)
				require.Zero(r, probe.Read(got, to))
				require.EqualValues(r, 100, got[99])
			})
			if report == "" {
				require.Empty(t, found)
			} else {
				require.Contains(t, found, report)
			}
		})
	}
}

// Memory that was freed before the work that uses it is waited for.
func TestUseAfterFree(t *testing.T) {
	needSimulator(t)
	found := with(t, image(t), func(r *rig) {
		a, s := probe.Alloc(400)
		require.Zero(r, s)
		f, s := probe.Find(r.module, "iota")
		require.Zero(r, s)
		require.Zero(r, probe.Launch(f, 1, 128, 0, r.stream, probe.Argument{To: a, N: 100}))
		require.Zero(r, probe.Free(a))
		require.Equal(r, illegalAddress, probe.Wait(r.stream))
	})
	require.Contains(t, found, "kernel iota")
	require.Contains(t, found, "freed allocation")
}

// A context that ends with something in it is reported.
func TestLeftAlive(t *testing.T) {
	needSimulator(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, s := probe.Open()
	require.Zero(t, s)
	_, s = probe.Alloc(10)
	require.Zero(t, s)
	_, s = probe.NewStream()
	require.Zero(t, s)
	require.Equal(t, "context with 1 allocations, 1 streams", cudasim.Alive())
	require.Zero(t, probe.Close(c))
	require.Contains(t, cudasim.Reports(), "the context still holds 1 allocations, 1 streams")
	cudasim.ClearReports()
}

// A program that returns from main with something alive is reported as well, and
// ends as it would with a driver.
func TestLeftAliveAtExit(t *testing.T) {
	needSimulator(t)
	program, reports := filepath.Join(t.TempDir(), "left"), filepath.Join(t.TempDir(), "reports")
	arguments := append(strings.Fields(os.Getenv("CGO_CFLAGS")), "testdata/left.c", "-o", program)
	arguments = append(append(arguments, strings.Fields(os.Getenv("CGO_LDFLAGS"))...), "-lcuda")
	out, err := exec.Command("gcc", arguments...).CombinedOutput()
	require.NoError(t, err, string(out))
	command := exec.Command(program)
	command.Env = append(os.Environ(), "CUDASIM_REPORTS="+reports)
	out, err = command.CombinedOutput()
	require.NoError(t, err, string(out))
	found, err := os.ReadFile(reports)
	require.NoError(t, err)
	require.Contains(t, string(found), "at exit: context with 100 allocations, 100 streams left alive")
}

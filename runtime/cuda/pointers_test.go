//go:build cuda

package cuda_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Field case RT-03: every program of a stage, natively, recorded and replayed, under
// the checks of cgo, which end the process when C is given Go memory that holds Go
// pointers. Built with GOEXPERIMENT=cgocheck2, as test.sh of the simulated driver
// does, they also see every Go pointer that Go code stores in memory of C, such as
// an array of arguments; that they do is tried in a process of its own.
func TestLaunchesHoldNoGoMemory(t *testing.T) {
	const child = "REPRISE_STORE_GO_POINTER"
	if os.Getenv(child) != "" {
		storeGoPointer(t)
		return
	}
	require.NotContains(t, os.Getenv("GODEBUG"), "cgocheck=0")
	if strings.Contains(runtime.Version(), "cgocheck2") {
		command := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		command.Env = append(os.Environ(), child+"=1")
		out, err := command.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "Go pointer stored into non-Go memory")
	}
	o := open(t, device.FP32, ir.Sizes{Batch: 1, Height: 16, Width: 24})
	programs := []device.Program{device.Forward(ir.Eval), forward}
	for i := range o.stage.Plan().Backward {
		programs = append(programs, device.BackwardOf(i))
	}
	var recordings []device.Recording
	for _, p := range programs {
		require.NoError(t, o.binding.Run(p))
		if p == programs[0] {
			continue // evaluation is not recorded
		}
		r, err := o.binding.Record(p)
		require.NoError(t, err)
		require.NoError(t, r.Replay())
		recordings = append(recordings, r)
	}
	require.Empty(t, notFinite(o.state()))
	o.close(recordings...)
}

// storeGoPointer does what no code may.
func storeGoPointer(t *testing.T) {
	page, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	*(**[]byte)(unsafe.Pointer(&page[0])) = &page
}

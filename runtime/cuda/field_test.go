//go:build cuda

package cuda_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
)

// replayAll replays a training step.
func replayAll(t *testing.T, recordings []device.Recording) {
	t.Helper()
	for _, r := range recordings {
		require.NoError(t, r.Replay())
	}
}

// scaleWeights multiplies all parameters, as an optimizer between two steps would
// change them.
func (o *bound) scaleWeights(factor float32) {
	o.Helper()
	for i, p := range o.stage.Plan().Parameters {
		values := make([]float32, device.Elements(p.Shape))
		require.NoError(o, o.stage.Parameter(i).ReadFloat32(values))
		for k := range values {
			values[k] *= factor
		}
		require.NoError(o, o.stage.Parameter(i).WriteFloat32(values))
	}
}

// Field case SE-06: casts of weights are part of the recording, so a replay reads
// the weights of now.
func TestReplayReadsTheWeightsOfNow(t *testing.T) {
	for _, p := range []device.Precision{device.FP16, device.BF16} {
		native, replayed := open(t, p, usual), open(t, p, usual)
		recordings := replayed.record()
		var outputs []string
		for range 2 {
			native.run()
			replayAll(t, recordings)
			require.Empty(t, different(native.state(), replayed.state()))
			outputs = append(outputs, digest(replayed.state(), "output "))
			native.scaleWeights(0.9)
			replayed.scaleWeights(0.9)
		}
		require.NotEqual(t, outputs[0], outputs[1])
		native.close()
		replayed.close(recordings...)
	}
}

// digest is a hash of the tensors of a state whose names begin with a prefix.
func digest(state map[string][]uint64, prefix string) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(state)) {
		if strings.HasPrefix(name, prefix) {
			fmt.Fprintln(sum, name, state[name])
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// Field case CT-05: no library makes or ends a handle while something is recorded,
// since the process has none of them.
func TestNoLibraryOfHandles(t *testing.T) {
	o := open(t, device.FP32, usual)
	recordings := o.record()
	replayAll(t, recordings)
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	require.Contains(t, string(maps), "libcuda.so")
	require.Empty(t, regexp.MustCompile(`lib(cublas|cudnn|cudart|nccl)\w*\.so`).FindAllString(string(maps), -1))
	o.close(recordings...)
}

// Field case CT-11: no recorded copy reads host memory: what uploads went through
// is written over and the collector runs, and replays still equal native steps.
func TestNoHostMemoryIsRecorded(t *testing.T) {
	native, replayed := open(t, device.FP32, usual), open(t, device.FP32, usual)
	recordings := replayed.record()
	other, err := replayed.stage.Bind(usual)
	require.NoError(t, err)
	junk := make([]float32, device.Elements(other.Input(0).Shape()))
	for i := range junk {
		junk[i] = math.Float32frombits(0xffffffff)
	}
	replays := 10
	if testing.Short() {
		replays = 2
	}
	for range replays {
		require.NoError(t, other.Input(0).WriteFloat32(junk))
		runtime.GC()
		runtime.GC()
		native.run()
		replayAll(t, recordings)
		require.Empty(t, different(native.state(), replayed.state()))
	}
	require.NoError(t, other.Close())
	native.close()
	replayed.close(recordings...)
}

// Field case PO-09: the comparison of replayed with native steps finds one changed
// bit of one weight, and names what differs.
func TestOneBitIsFound(t *testing.T) {
	native, replayed := open(t, device.FP32, usual), open(t, device.FP32, usual)
	recordings := replayed.record()
	native.run()
	replayAll(t, recordings)
	require.Empty(t, different(native.state(), replayed.state()))
	weight := replayed.stage.Parameter(0)
	values := make([]float32, device.Elements(weight.Shape()))
	require.NoError(t, weight.ReadFloat32(values))
	values[0] = math.Float32frombits(math.Float32bits(values[0]) ^ 1<<16)
	require.NoError(t, weight.WriteFloat32(values))
	native.run()
	replayAll(t, recordings)
	require.Contains(t, different(native.state(), replayed.state()), "gradient "+weight.Name())
	native.close()
	replayed.close(recordings...)
}

// collecting runs the garbage collector in another goroutine until it is stopped.
func collecting() (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			default:
				runtime.GC()
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// Field case RT-05: what calls need is alive until they return, whenever the
// collector runs.
func TestCollectorBesideCalls(t *testing.T) {
	calls := 10000
	if testing.Short() {
		calls = 500
	}
	o := openTiny(t)
	r, err := o.binding.Record(forward)
	require.NoError(t, err)
	stop := collecting()
	for range calls {
		require.NoError(t, r.Replay())
	}
	stop()
	require.EqualValues(t, 16*calls, o.buffer("state")[1])
	o.close(r)
}

// preemptionKey tells the process that TestPreemption starts what it is for.
const preemptionKey = "REPRISE_TEST_PREEMPTION"

// Field case RT-07: signals that the Go runtime preempts threads with change
// nothing: steps under a busy collector have the same hash with and without.
func TestPreemption(t *testing.T) {
	if os.Getenv(preemptionKey) != "" {
		o := open(t, device.BF16, usual)
		recordings := o.record()
		stop := collecting()
		steps := 100
		if testing.Short() {
			steps = 3
		}
		for step := range steps {
			o.inputs(uint64(step))
			o.run()
			replayAll(t, recordings)
		}
		stop()
		fmt.Println("hash", digest(o.state(), ""))
		o.close(recordings...)
		return
	}
	require.NoError(t, openDevice(t, cuda.Options{}).Close())
	var hashes []string
	for _, off := range []string{"0", "1"} {
		command := exec.Command(os.Args[0], "-test.run=^TestPreemption$", fmt.Sprintf("-test.short=%t", testing.Short()))
		command.Env = append(os.Environ(), preemptionKey+"=1", "GODEBUG=asyncpreemptoff="+off)
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
		hashes = append(hashes, regexp.MustCompile(`hash \w{64}`).FindString(string(out)))
	}
	require.NotEmpty(t, hashes[0])
	require.Equal(t, hashes[0], hashes[1])
}

package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

var small = ir.Sizes{Batch: 2, Height: 32, Width: 64}

// Every stage of every task is measured on the host: native steps launch each
// kernel of the plan, replayed ones two graphs.
func TestEveryStage(t *testing.T) {
	for task, stages := range map[string][]string{
		"detect": {"network"}, "obb": {"network"}, "pose": {"features", "head"},
		"segment": {"features", "coefficients", "fusion", "prototypes", "semantic", "head"},
	} {
		for i, stage := range stages {
			t.Run(task+"/"+stage, func(t *testing.T) {
				d := host.Open(host.Options{})
				w := Workload{Task: task, Scale: "t", Stage: stage, Sizes: small, Precision: device.FP32}
				if i == 0 {
					w.Stage = "" // the first is the default
				}
				report, err := Run(d, w, Repeats{Warmup: 1, Steps: 2})
				require.NoError(t, err)
				require.NoError(t, d.Close())
				require.Equal(t, stage, report.Workload.Stage)
				native, replayed := report.Ways[0], report.Ways[1]
				require.Equal(t, []string{"native", "replay"}, []string{native.Mode, replayed.Mode})
				require.Zero(t, native.GraphLaunches)
				require.Zero(t, replayed.KernelLaunches)
				require.EqualValues(t, 2, replayed.GraphLaunches)
				require.EqualValues(t, replayed.Nodes, native.KernelLaunches)
				for _, way := range report.Ways {
					require.Positive(t, way.Forward)
					require.Positive(t, way.Backward)
					require.GreaterOrEqual(t, way.Both, max(way.Forward, way.Backward))
					require.Positive(t, way.Dispatch)
				}
				require.Positive(t, report.Record)
				require.Positive(t, report.Bytes)
				require.Positive(t, report.PeakAllocated)
			})
		}
	}
}

// One line of JSON for each way, with rates of a whole step; the table has the
// same numbers.
func TestReport(t *testing.T) {
	r := &Report{
		Workload: Workload{Task: "obb", Scale: "n", Stage: "network", Sizes: ir.Sizes{Batch: 4, Height: 1024, Width: 512}, Precision: device.BF16},
		Device:   "a device", Load: 3 * time.Millisecond, Record: 15 * time.Millisecond, Bytes: 6e9, Operations: 4e9,
	}
	r.finish(device.Counters{PeakBytes: 5 << 20, PeakReserved: 7 << 20},
		Way{Mode: "native", Forward: time.Millisecond, Backward: 3 * time.Millisecond, Both: 4 * time.Millisecond, Dispatch: 2 * time.Millisecond, KernelLaunches: 9},
		Way{Mode: "replay", Forward: time.Millisecond, Backward: time.Millisecond, Both: 2 * time.Millisecond, Dispatch: time.Microsecond, GraphLaunches: 2, Nodes: 9})
	var out bytes.Buffer
	require.NoError(t, r.WriteJSON(&out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	var native, replayed map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &native))
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &replayed))
	require.Nil(t, native["nodes"])
	require.Nil(t, native["record_ms"])
	require.EqualValues(t, 9, native["kernel_launches"])
	require.InDelta(t, 1.5e12, native["bytes_per_second"], 1)
	require.InDelta(t, 3e12, replayed["bytes_per_second"], 1)
	require.InDelta(t, 2e12, replayed["flops"], 1)
	require.EqualValues(t, 15, replayed["record_ms"])
	require.EqualValues(t, 3, replayed["load_ms"])
	require.EqualValues(t, 0.001, replayed["dispatch_ms"])
	require.EqualValues(t, 5<<20, replayed["peak_allocated_bytes"])
	require.EqualValues(t, 7<<20, replayed["peak_reserved_bytes"])

	out.Reset()
	require.NoError(t, r.WriteText(&out))
	text := out.String()
	require.Contains(t, text, "obb n network 4x1024x512 bf16 on a device")
	require.Contains(t, text, "replay       1.000        1.000    2.000        0.001                0               2  3000     2.00")
	require.Contains(t, text, "9 nodes recorded in 15.0 ms, kernels loaded in 3.0 ms\npeak memory 5 MiB allocated, 7 MiB reserved\na step is 6000 MB of operands and 4.0 GFLOP")
}

func TestMedian(t *testing.T) {
	require.Equal(t, 3*time.Second, median([]time.Duration{9 * time.Second, 3 * time.Second, time.Second}))
	require.Equal(t, 2*time.Second, median([]time.Duration{9 * time.Second, 3 * time.Second, time.Second, time.Second}))
}

func TestWorkloadsThatCannotBe(t *testing.T) {
	for want, w := range map[string]Workload{
		`task segment has no stage "net"; it has features`: {Task: "segment", Scale: "t", Stage: "net", Sizes: small, Precision: device.FP32},
		"multiple": {Task: "obb", Scale: "t", Sizes: ir.Sizes{Batch: 1, Height: 33, Width: 32}, Precision: device.FP32},
		"bf16":     {Task: "obb", Scale: "t", Sizes: small, Precision: device.BF16},
	} {
		d := host.Open(host.Options{})
		_, err := Run(d, w, Repeats{Steps: 1})
		require.ErrorContains(t, err, want)
		require.NoError(t, d.Close(), "nothing is left")
	}
	d := host.Open(host.Options{})
	_, err := Run(d, Workload{Task: "obb", Scale: "t", Sizes: small, Precision: device.FP32}, Repeats{})
	require.ErrorContains(t, err, "measure 1 or more")
	require.NoError(t, d.Close())
}

// Losing a replay is an error, and everything is closed all the same.
func TestFailures(t *testing.T) {
	for _, event := range []string{"launch", "record", "replay"} {
		d := host.Open(host.Options{Fail: func(e string, _ int) error {
			if e == event {
				return errFailed
			}
			return nil
		}})
		_, err := Run(d, Workload{Task: "obb", Scale: "t", Sizes: small, Precision: device.FP32}, Repeats{Steps: 1})
		require.ErrorIs(t, err, errFailed, event)
		require.NoError(t, d.Close(), "nothing is left")
	}
}

var errFailed = errors.New("failed")

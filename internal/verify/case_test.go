package verify_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/verify"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

var tasks = []string{"detect", "obb", "pose", "segment"}

func hostDevice(t *testing.T) device.Device {
	t.Helper()
	dev := host.Open(host.Options{})
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

// The networks of all tasks, cut into stages as they are, give the outputs,
// gradients, statistics and evaluation outputs of another implementation.
func TestCases(t *testing.T) {
	for _, task := range tasks {
		for _, precision := range []device.Precision{device.Float64, device.FP32} {
			t.Run(task+"/"+string(precision), func(t *testing.T) {
				result, err := verify.Run(hostDevice(t), verify.Request{
					File: filepath.Join("testdata", task+"-t.json"), Precision: precision,
				})
				require.NoError(t, err)
				require.Equal(t, "case", result.Kind)
				require.Equal(t, task, result.Task)
				require.Empty(t, result.Failure)
				kinds := map[string]bool{}
				for _, w := range result.Worst {
					kinds[w.Kind] = true
				}
				for _, kind := range []string{verify.KindOutput, verify.KindGradient, verify.KindImage, verify.KindStatistics, verify.KindEvaluation, verify.KindParameters} {
					require.True(t, kinds[kind], kind)
				}
			})
		}
	}
}

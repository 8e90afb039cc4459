//go:build cuda

package cuda_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/reprise-ml/reprise/internal/testscale/reference/detect"
	_ "github.com/reprise-ml/reprise/internal/testscale/reference/obb"
	_ "github.com/reprise-ml/reprise/internal/testscale/reference/pose" // and the features of segment
	_ "github.com/reprise-ml/reprise/internal/testscale/segment"
	"github.com/reprise-ml/reprise/internal/verify"
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
)

// needImages skips a test whose kernels have not been compiled, unless
// REPRISE_REQUIRE_IMAGES is 1: for the simulator only some are.
func needImages(t testing.TB, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), "no kernel image") && os.Getenv("REPRISE_REQUIRE_IMAGES") != "1" {
		t.Skip(err)
	}
	require.NoError(t, err)
}

// The reference cases in FP32: outputs, gradients, statistics and evaluation
// outputs of another implementation.
func TestReferenceCases(t *testing.T) {
	for _, task := range []string{"detect", "obb", "pose", "segment"} {
		t.Run(task, func(t *testing.T) {
			d := openDevice(t, cuda.Options{})
			result, err := verify.Run(d, verify.Request{File: filepath.Join("..", "..", "internal", "verify", "testdata", task+"-t.json"), Precision: device.FP32})
			needImages(t, err)
			for _, w := range result.Worst {
				t.Log(w.Deviation)
			}
			require.Empty(t, result.Failure)
			require.NoError(t, d.Close())
		})
	}
}

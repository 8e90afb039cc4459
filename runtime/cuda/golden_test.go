//go:build cuda

package cuda_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/reprise-ml/reprise/internal/testscale/reference/obb"
	"github.com/reprise-ml/reprise/internal/verify"
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
)

// The reference case in FP32: outputs, gradients, statistics and evaluation
// outputs of another implementation.
func TestReferenceCase(t *testing.T) {
	d := openDevice(t, cuda.Options{})
	result, err := verify.Run(d, verify.Request{File: filepath.Join("..", "..", "internal", "verify", "testdata", "obb-t.json"), Precision: device.FP32})
	require.NoError(t, err)
	for _, w := range result.Worst {
		t.Log(w.Deviation)
	}
	require.Empty(t, result.Failure)
	require.NoError(t, d.Close())
}

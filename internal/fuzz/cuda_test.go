//go:build cuda

package fuzz

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
)

// openDevice opens what the fits of FuzzGuards run on: the first device. Where
// there is none the test is skipped, unless REPRISE_REQUIRE_CUDA is 1.
func openDevice(t testing.TB) device.Device {
	t.Helper()
	d, err := cuda.Open(cuda.Options{})
	if err != nil && os.Getenv("REPRISE_REQUIRE_CUDA") != "1" {
		t.Skip(err)
	}
	require.NoError(t, err)
	return d
}

//go:build cuda

package fuzz

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
)

// openDevice opens what the fits of FuzzGuards run on: the first device, which a
// build with the tag cuda needs.
func openDevice(t testing.TB) device.Device {
	t.Helper()
	d, err := cuda.Open(cuda.Options{})
	require.NoError(t, err)
	return d
}

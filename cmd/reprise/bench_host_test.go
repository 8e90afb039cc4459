//go:build !cuda

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Without the CUDA back end the default device is one error that says how to
// build it.
func TestBenchWithoutCUDA(t *testing.T) {
	out, stderr, code := reprise("bench", "stage")
	require.Equal(t, 1, code)
	require.Empty(t, out)
	require.Equal(t, "-device: device is cuda, but this build has no CUDA back end; build with -tags cuda on a machine with the CUDA headers, or use --device=host\n", stderr)
}

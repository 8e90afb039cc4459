package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/device"
)

func TestTimer(t *testing.T) {
	var d device.Timed = Open(Options{}).(*Device)
	timer, err := d.NewTimer()
	require.NoError(t, err)
	_, err = timer.Elapsed()
	require.ErrorContains(t, err, "started and stopped")
	require.NoError(t, timer.Start())
	_, err = timer.Elapsed()
	require.ErrorContains(t, err, "started and stopped")
	time.Sleep(2 * time.Millisecond)
	require.NoError(t, d.Synchronize())
	require.NoError(t, timer.Stop())
	elapsed, err := timer.Elapsed()
	require.NoError(t, err)
	require.GreaterOrEqual(t, elapsed, 2*time.Millisecond)
	require.NoError(t, timer.Start())
	_, err = timer.Elapsed()
	require.ErrorContains(t, err, "started and stopped", "the second moment of an earlier measurement does not count")
	require.NoError(t, timer.Close())
}

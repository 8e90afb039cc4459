package optim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// home is a fit on the host that natively runs optimizers, until the test ends.
func home(t testing.TB) Home { return homeOn(t, host.Options{}, replay.Settings{}, false) }

func homeOn(t testing.TB, options host.Options, settings replay.Settings, record bool) Home {
	t.Helper()
	dev := host.Open(options)
	fit, err := replay.NewFit(dev, settings)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, fit.Close())
		require.Zero(t, dev.Counters().Recordings)
		require.Zero(t, dev.Counters().Bytes)
		require.NoError(t, dev.Close())
	})
	return Home{Fit: fit, Wish: replay.StageOptions{Capture: record, Option: "capture_optimizer"}}
}

// optimizer starts one at a home.
func optimizer[T device.Float](t testing.TB, at Home, options MuSGDOptions) *MuSGD[T] {
	t.Helper()
	o, err := NewMuSGD[T](at, options)
	require.NoError(t, err)
	return o
}

// stage is what the optimizer's first stage has done so far.
func (h Home) stage() replay.StageReport { return h.Fit.Report().Stages[0] }

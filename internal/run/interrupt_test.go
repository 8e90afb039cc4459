package run_test

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/run"
)

func TestInterruptible(t *testing.T) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		ctx, stop := run.Interruptible()
		require.NoError(t, ctx.Err())
		self, err := os.FindProcess(os.Getpid())
		require.NoError(t, err)
		require.NoError(t, self.Signal(s))
		select {
		case <-ctx.Done():
			require.Equal(t, context.Canceled, ctx.Err())
		case <-time.After(time.Minute):
			t.Fatal(s, "was ignored")
		}
		stop()
	}
}

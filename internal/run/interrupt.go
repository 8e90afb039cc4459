package run

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// ErrInterrupted is in the error of a fit whose context ended.
var ErrInterrupted = errors.New("the fit was interrupted")

// Interruptible gives a context that ends at Ctrl-C, and at SIGTERM, by which
// schedulers and containers ask for their machine back. The fit then saves a
// checkpoint before it ends.
func Interruptible() (ctx context.Context, stop context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

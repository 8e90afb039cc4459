package run

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interruptible gives a context that ends at Ctrl-C, and at SIGTERM, by which
// schedulers and containers ask for their machine back. The fit then saves a
// checkpoint before it ends.
func Interruptible() (ctx context.Context, stop context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

package main

import (
	"bytes"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A command that is interrupted says so first, and in one line.
func TestInterruptedCommandSaysSo(t *testing.T) {
	survives := make(chan os.Signal, 1) // Ctrl-C before execute listens ends no process
	signal.Notify(survives, os.Interrupt)
	defer signal.Stop(survives)
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(50 * time.Millisecond):
				_ = self.Signal(os.Interrupt) // the code of the command tells whether it came
			}
		}
	}()
	var stderr bytes.Buffer
	code := execute([]string{"demo", "-out", filepath.Join(t.TempDir(), "demo")}, new(bytes.Buffer), &stderr)
	close(ended)
	require.Equal(t, 1, code)
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	require.True(t, strings.HasPrefix(lines[len(lines)-1], "interrupted"), stderr.String())
	require.LessOrEqual(t, len(lines), 2, stderr.String())
}

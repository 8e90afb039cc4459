package progress

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clocked is a meter on a buffer, and the clock it reads.
func clocked(terminal bool) (*Meter, *bytes.Buffer, *time.Time) {
	var buffer bytes.Buffer
	meter := NewMeter(&buffer)
	meter.terminal = terminal
	at := time.Unix(0, 0)
	meter.now = func() time.Time { return at }
	return meter, &buffer, &at
}

// epoch takes three steps of a second each.
func epoch(t *testing.T, meter *Meter, at *time.Time) {
	t.Helper()
	meter.Begin("epoch 1/2", 3, 10)
	for _, images := range []int{4, 4, 2} {
		*at = at.Add(time.Second)
		require.NoError(t, meter.Step(images, "box 1.25"))
	}
	require.NoError(t, meter.End("box 1.20"))
}

const plainLine = "epoch 1/2  3 steps  10 images  3.3 images/s  3.00 s  box 1.20\n"

func TestPlainWriterGetsOneLinePerEpoch(t *testing.T) {
	meter, buffer, at := clocked(false)
	meter.Begin("epoch 1/2", 3, 10)
	*at = at.Add(2 * time.Second)
	require.NoError(t, meter.Step(4, "box 1.25"))
	require.Empty(t, buffer.String(), "nothing while the epoch runs")
	require.NoError(t, meter.End("stopped"))
	require.Equal(t, "epoch 1/2  1 steps  4 images  2.0 images/s  2.00 s  stopped\n", buffer.String())

	buffer.Reset()
	epoch(t, meter, at)
	require.Equal(t, plainLine, buffer.String(), "a new epoch starts from zero")
}

func TestTerminalGetsALiveLineAndThePlainLine(t *testing.T) {
	meter, buffer, at := clocked(true)
	epoch(t, meter, at)
	shown := buffer.String()
	require.Contains(t, shown, "\repoch 1/2  step 2/3  4.0 images/s  box 1.25  80%")
	require.True(t, strings.HasSuffix(shown, "\r"+plainLine), shown)
	require.Equal(t, 1, strings.Count(shown, "\n"), "the live line never scrolls")
}

func TestLiveLineIsDrawnTenTimesASecondAtMost(t *testing.T) {
	meter, buffer, at := clocked(true)
	meter.Begin("epoch 1/2", 1000, 4000)
	for range 500 {
		*at = at.Add(time.Millisecond)
		require.NoError(t, meter.Step(4, ""))
	}
	require.Contains(t, buffer.String(), "step 500/1000  4000.0 images/s")
	require.Contains(t, buffer.String(), "50%", "steps between two drawings count")
	require.Equal(t, 2*5, strings.Count(buffer.String(), "step "), "once for the text and once for the count")
	require.NoError(t, meter.End("stopped"))
	require.True(t, strings.HasSuffix(buffer.String(), "500 steps  2000 images  4000.0 images/s  0.50 s  stopped\n"))
}

func TestSilentAndNonTerminalWriters(t *testing.T) {
	silent := NewMeter(nil)
	require.False(t, silent.terminal)
	at := time.Now()
	epoch(t, silent, &at)

	file, err := os.CreateTemp(t.TempDir(), "log")
	require.NoError(t, err)
	defer file.Close()
	meter := NewMeter(file)
	require.False(t, meter.terminal)
	epoch(t, meter, &at)
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	require.NotContains(t, string(text), "\r")

	full, err := os.OpenFile(file.Name(), os.O_RDONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	refused := NewMeter(full)
	refused.Begin("epoch 1/2", 1, 1)
	require.Error(t, refused.End(""), "a failed write is reported")
}

package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/trainer"
)

// silent is a progress that shows nothing.
type silent struct{}

func (silent) Begin(int, int)          {}
func (silent) Step(int, float64)       {}
func (silent) End(int, []trainer.Term) {}

func readText(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return string(text)
}

func TestRecorderKeepsEveryEpoch(t *testing.T) {
	dir := t.TempDir()
	losses := []float64{4, 2}
	epoch := func(r *recorder, number int, validation ...trainer.Term) {
		r.losses = func() []float64 { return losses }
		r.Begin(number, 0)
		r.Step(3, losses[len(losses)-2])
		r.Step(2, losses[len(losses)-1])
		r.End(number, validation)
	}
	first, err := newRecorder(silent{}, dir, 2, false, nil)
	require.NoError(t, err)
	epoch(first, 0, trainer.Term{Name: "loss", Value: 2.5})
	losses = append(losses, 2, 1)
	epoch(first, 1, trainer.Term{Name: "loss", Value: 2}, trainer.Term{Name: "mAP", Value: 0.25})
	require.Equal(t, 2, strings.Count(readText(t, dir, MetricsJSONName), "\n"))
	table := strings.Split(readText(t, dir, MetricsCSVName), "\n")
	require.Equal(t, "epoch,loss,images,seconds,val_loss,val_mAP", table[0])
	require.Regexp(t, `^0,3,5,[0-9.e-]+,2.5,$`, table[1])
	require.Regexp(t, `^1,1.5,5,[0-9.e-]+,2,0.25$`, table[2])
	require.FileExists(t, filepath.Join(dir, LossCurveName))
	require.FileExists(t, filepath.Join(dir, MetricsCurveName))

	// A resumed fit repeats the last epoch and replaces its record.
	again, err := newRecorder(silent{}, dir, 2, true, nil)
	require.NoError(t, err)
	losses[3] = 3
	epoch(again, 1)
	table = strings.Split(readText(t, dir, MetricsCSVName), "\n")
	require.Len(t, table, 4)
	require.Regexp(t, `^1,2.5,5,`, table[2])

	// A new fit in the same folder begins anew.
	fresh, err := newRecorder(silent{}, dir, 2, false, nil)
	require.NoError(t, err)
	losses = losses[:2]
	epoch(fresh, 0)
	require.Equal(t, 1, strings.Count(readText(t, dir, MetricsJSONName), "\n"))
}

func TestRecorderTellsItsTroubles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, MetricsJSONName), []byte("{}\nnothing\n"), 0o644))
	_, err := newRecorder(silent{}, dir, 1, true, nil)
	require.ErrorContains(t, err, MetricsJSONName+":2: not a record of an epoch: ")

	var log bytes.Buffer
	r, err := newRecorder(silent{}, filepath.Join(dir, "none"), 1, false, &log)
	require.NoError(t, err)
	r.losses = func() []float64 { return []float64{1, 1} }
	r.Begin(0, 0)
	r.End(0, nil)
	r.End(1, nil)
	require.Equal(t, 1, strings.Count(log.String(), "warning: the figures of epoch 1 cannot be recorded: "), "once")
}

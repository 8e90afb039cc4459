package run

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/trainer"
)

// counted is a progress that counts what it is told.
type counted struct{ begun, steps, ended int }

func (c *counted) Begin(int, int)          { c.begun++ }
func (c *counted) Step(int, float64)       { c.steps++ }
func (c *counted) End(int, []trainer.Term) { c.ended++ }

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
	told := &counted{}
	first, err := newRecorder(told, dir, 2, false, nil)
	require.NoError(t, err)
	epoch(first, 0, trainer.Term{Name: "loss", Value: 2.5})
	losses = append(losses, 2, 1)
	epoch(first, 1, trainer.Term{Name: "loss", Value: 2}, trainer.Term{Name: "mAP", Value: 0.25})
	require.Equal(t, &counted{begun: 2, steps: 4, ended: 2}, told, "everything is passed on")
	require.Equal(t, 2, strings.Count(readText(t, dir, MetricsJSONName), "\n"))
	table := strings.Split(readText(t, dir, MetricsCSVName), "\n")
	require.Equal(t, "epoch,loss,images,seconds,val_loss,val_mAP", table[0])
	require.Regexp(t, `^0,3,5,[0-9.e-]+,2.5,$`, table[1])
	require.Regexp(t, `^1,1.5,5,[0-9.e-]+,2,0.25$`, table[2])
	require.FileExists(t, filepath.Join(dir, LossCurveName))
	require.FileExists(t, filepath.Join(dir, MetricsCurveName))

	// A resumed fit repeats the last epoch and replaces its record.
	again, err := newRecorder(&counted{}, dir, 2, true, nil)
	require.NoError(t, err)
	losses[3] = 3
	epoch(again, 1)
	table = strings.Split(readText(t, dir, MetricsCSVName), "\n")
	require.Len(t, table, 4)
	require.Regexp(t, `^1,2.5,5,`, table[2])

	// A new fit in the same folder begins anew.
	fresh, err := newRecorder(&counted{}, dir, 2, false, nil)
	require.NoError(t, err)
	losses = losses[:2]
	epoch(fresh, 0)
	require.Equal(t, 1, strings.Count(readText(t, dir, MetricsJSONName), "\n"))
}

func TestRecorderTellsItsTroubles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, MetricsJSONName), []byte("{}\nnothing\n"), 0o644))
	_, err := newRecorder(&counted{}, dir, 1, true, nil)
	require.ErrorContains(t, err, MetricsJSONName+":2: not a record of an epoch: ")
	_, err = newRecorder(&counted{}, dir, 1, false, nil)
	require.NoError(t, err, "a new fit does not read the records of another")

	var log bytes.Buffer
	r, err := newRecorder(&counted{}, filepath.Join(dir, "none"), 1, false, &log)
	require.NoError(t, err)
	r.losses = func() []float64 { return []float64{1, 1} }
	r.Begin(0, 0)
	r.End(0, nil)
	r.End(1, nil)
	require.Contains(t, log.String(), "warning: the figures of epoch 1 cannot be recorded: ")
	require.Equal(t, 1, strings.Count(log.String(), "warning: "), "once")
}

// A figure that is not finite is recorded as such, resumed from and left out of
// the curves; the figures of other epochs are kept.
func TestRecorderKeepsWhatIsNotFinite(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	r, err := newRecorder(&counted{}, dir, 1, false, &log)
	require.NoError(t, err)
	losses := []float64{2}
	r.losses = func() []float64 { return losses }
	r.Begin(0, 0)
	r.End(0, []trainer.Term{{Name: "loss", Value: math.Inf(1)}})
	losses = append(losses, math.NaN())
	r.End(1, []trainer.Term{{Name: "loss", Value: math.NaN()}})
	require.Empty(t, log.String())
	require.Contains(t, readText(t, dir, MetricsJSONName), `{"epoch":1,"loss":null,`)
	require.Contains(t, readText(t, dir, MetricsCSVName), "\n1,NaN,0,")

	again, err := newRecorder(&counted{}, dir, 1, true, &log)
	require.NoError(t, err)
	require.True(t, math.IsNaN(float64(again.records[1].Loss)))
	require.EqualValues(t, 2, again.records[0].Loss)
	var text bytes.Buffer
	require.NoError(t, (&Summary{FirstEpochLoss: Number(math.NaN())}).WriteJSON(&text))
	require.Contains(t, text.String(), `"firstEpochLoss": null`)
}

// The curve of the losses has a line of training and one of validation.
func TestCurvesShowValidation(t *testing.T) {
	var drawn []string
	for _, figures := range [][]trainer.Term{nil, {{Name: "loss", Value: 3}}, {{Name: "mAP", Value: 0.5}}} {
		dir := t.TempDir()
		r, err := newRecorder(&counted{}, dir, 1, false, nil)
		require.NoError(t, err)
		r.losses = func() []float64 { return []float64{2} }
		r.Begin(0, 0)
		r.End(0, figures)
		drawn = append(drawn, readText(t, dir, LossCurveName))
		_, err = os.Stat(filepath.Join(dir, MetricsCurveName))
		require.Equal(t, len(figures) == 1 && figures[0].Name == "mAP", err == nil)
	}
	require.False(t, drawn[0] == drawn[1])
	require.True(t, drawn[0] == drawn[2])
}

package demo

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/reprise-ml/reprise/internal/progress"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// steps shows a whole fit as one progress line.
type steps struct {
	line *progress.Meter
	done int
	of   int
	last float64
}

func newSteps(w io.Writer, name string, of int) *steps {
	s := &steps{line: progress.NewMeter(w), of: of}
	s.line.Begin(name, of, of*batchSize)
	return s
}

// Begin implements trainer.Progress.
func (s *steps) Begin(int, int) {}

// Step implements trainer.Progress.
func (s *steps) Step(images int, loss float64) {
	s.done++
	s.last = loss
	text := fmt.Sprintf("loss %.4f", loss)
	err := s.line.Step(images, text)
	if err == nil && s.done == s.of {
		_ = s.line.End(text) // a progress line that cannot be written ends nothing
	}
}

// End implements trainer.Progress.
func (s *steps) End(int, []trainer.Term) {}

// WriteText prints both fits side by side.
func (r *Result) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "fit\tseconds\tsteps\treplayed\tkernel launches\tgraph launches\tfirst loss\tlast loss")
	for _, a := range r.Arms {
		fmt.Fprintf(t, "%s\t%.1f\t%d\t%d\t%d\t%d\t%.4f\t%.4f\n", a.Name, a.Seconds, a.Steps, a.Replayed, a.KernelLaunches, a.GraphLaunches, a.FirstLoss, a.LastLoss)
	}
	fmt.Fprintln(t)
	fmt.Fprint(t, "sha256")
	for _, a := range r.Arms {
		fmt.Fprintf(t, "\t%s", a.Name)
	}
	fmt.Fprintln(t)
	for _, family := range []string{"model", "optimizer", "schedule", "ema", "losses"} {
		fmt.Fprint(t, family)
		for _, a := range r.Arms {
			hash := map[string]string{
				"model": a.Hashes.Model, "optimizer": a.Hashes.Optimizer, "schedule": a.Hashes.Schedule,
				"ema": a.Hashes.EMA, "losses": a.Hashes.Losses,
			}[family]
			fmt.Fprintf(t, "\t%s", hash[:16])
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	verdict := "identical, byte for byte"
	if !r.Identical {
		verdict = "DIFFERENT"
	}
	_, err := fmt.Fprintf(w, "\nnative and replayed are %s\npredictions on unseen scenes: %s\n", verdict, r.Picture)
	return err
}

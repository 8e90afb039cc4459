package run

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// Summary tells what a fit did.
type Summary struct {
	Task      string `json:"task"`
	Scale     string `json:"scale"`
	Classes   int    `json:"classes"`
	Device    string `json:"device"`
	Precision string `json:"precision"`

	Epochs  int     `json:"epochs"` // begun
	Steps   int     `json:"steps"`  // optimizer steps
	Images  int     `json:"images"` // trained on since the start or resume
	Seconds float64 `json:"seconds"`

	// Overflows is how many steps since the start or resume changed no
	// parameter: their scaled gradients were not finite in FP16.
	Overflows int `json:"overflows"`

	FirstEpochLoss Number   `json:"firstEpochLoss"` // mean
	LastEpochLoss  Number   `json:"lastEpochLoss"`  // mean
	Validation     []Figure `json:"validation,omitempty"`

	Recording  replay.Report     `json:"recording"`
	Hashes     checkpoint.Hashes `json:"hashes"`
	Checkpoint string            `json:"checkpoint,omitempty"`
}

func summarise[T device.Float](s *config.Settings, f *trainer.Fit[T], m *meter, took time.Duration) (*Summary, error) {
	hashes, err := f.Hashes()
	if err != nil {
		return nil, err
	}
	out := &Summary{
		Task: s.Task, Scale: s.Model.Scale, Classes: s.Model.Classes, Device: s.Device, Precision: s.Trainer.Precision,
		Steps: f.Steps(), Images: m.seen, Seconds: took.Seconds(), Overflows: f.Overflows(),
		Validation: figuresOf(m.validation), Recording: f.Report(), Hashes: hashes,
	}
	losses := f.Losses()
	out.Epochs = (len(losses) + m.batches - 1) / m.batches
	var first, last mean
	for i, v := range losses {
		switch i / m.batches {
		case 0:
			first.add(v)
		}
		if i/m.batches == out.Epochs-1 {
			last.add(v)
		}
	}
	out.FirstEpochLoss, out.LastEpochLoss = Number(first.value()), Number(last.value())
	if s.Run.Dir != "" {
		out.Checkpoint = filepath.Join(s.Run.Dir, trainer.CheckpointName)
	}
	return out, nil
}

// Fall is by how much the mean loss of an epoch fell from the first to the
// last, as a fraction of the first.
func (s *Summary) Fall() float64 { return 1 - float64(s.LastEpochLoss/s.FirstEpochLoss) }

// WriteJSON writes the summary for programs.
func (s *Summary) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(s)
}

// WriteText writes the summary for people.
func (s *Summary) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s at scale %s, %d classes, %s on %s: %d steps in %d epochs, %.1f s, %.1f images/s\n",
		s.Task, s.Scale, s.Classes, s.Precision, s.Device, s.Steps, s.Epochs, s.Seconds, float64(s.Images)/s.Seconds)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "loss per epoch %.4f -> %.4f (%.1f %% lower)\n", s.FirstEpochLoss, s.LastEpochLoss, 100*s.Fall())
	if s.Overflows > 0 {
		fmt.Fprintf(w, "%d steps without an update: scaled gradients overflowed and the loss scale was lowered\n", s.Overflows)
	}
	for _, t := range s.Validation {
		fmt.Fprintf(w, "validation %s %.4f\n", t.Name, t.Value)
	}
	fmt.Fprintf(w, "\n%s\n", s.Recording)
	for _, h := range []struct{ name, hash string }{
		{"model", s.Hashes.Model}, {"optimizer", s.Hashes.Optimizer}, {"schedule", s.Hashes.Schedule},
		{"ema", s.Hashes.EMA}, {"losses", s.Hashes.Losses},
	} {
		fmt.Fprintf(w, "sha256 %-10s%s\n", h.name, h.hash)
	}
	if s.Checkpoint != "" {
		_, err = fmt.Fprintln(w, "checkpoint", s.Checkpoint)
	}
	return err
}

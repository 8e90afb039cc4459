package run

import (
	"fmt"
	"io"

	"github.com/reprise-ml/reprise/internal/progress"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// meter shows a fit on a progress line and keeps what the summary tells of it.
type meter struct {
	line            *progress.Meter
	epochs          int
	batches, images int // of an epoch
	batchSize       int

	losses     mean // of the epoch at hand
	seen       int  // images since the fit began
	validation []trainer.Term
	failed     error // of writing, which does not end a fit
}

// mean averages numbers one by one.
type mean struct {
	sum   float64
	count int
}

func (m *mean) add(v float64) { m.sum, m.count = m.sum+v, m.count+1 }

func (m *mean) value() float64 { return m.sum / float64(max(m.count, 1)) }

func newMeter(w io.Writer, epochs, batchSize int, d trainer.Data) *meter {
	return &meter{line: progress.NewMeter(w), epochs: epochs, batches: d.Train.Batches(), images: d.Train.Images(), batchSize: batchSize}
}

// Begin implements trainer.Progress.
func (m *meter) Begin(epoch, batch int) {
	m.losses = mean{}
	m.line.Begin(fmt.Sprintf("epoch %d/%d", epoch+1, m.epochs), m.batches-batch, m.images-batch*m.batchSize)
}

// Step implements trainer.Progress.
func (m *meter) Step(images int, loss float64) {
	m.losses.add(loss)
	m.seen += images
	m.keep(m.line.Step(images, fmt.Sprintf("loss %.4f", loss)))
}

// End implements trainer.Progress.
func (m *meter) End(_ int, validation []trainer.Term) {
	text := "resumed" // to validate: every batch was trained on before
	if m.losses.count > 0 {
		text = fmt.Sprintf("loss %.4f", m.losses.value())
	}
	for _, t := range validation {
		if t.Name == "loss" || len(t.Name) > 4 && t.Name[:4] == "rota" {
			text += fmt.Sprintf("  val %s %.4f", t.Name, t.Value)
		}
	}
	m.validation = validation
	m.keep(m.line.End(text))
}

func (m *meter) keep(err error) {
	if m.failed == nil {
		m.failed = err
	}
}

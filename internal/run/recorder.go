package run

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/google/renameio/v2"

	"github.com/reprise-ml/reprise/internal/trainer"
)

// Files of a run folder that grow with every epoch.
const (
	MetricsCSVName   = "metrics.csv"
	MetricsJSONName  = "metrics.jsonl"
	LossCurveName    = "loss.png"
	MetricsCurveName = "metrics.png"
)

// epochRecord is what is kept of an epoch, one JSON line each.
type epochRecord struct {
	Epoch int `json:"epoch"` // from 0
	// Loss is the mean over the micro-batches of the epoch.
	Loss Number `json:"loss"`
	// Images and Seconds are those since the epoch began or was resumed.
	Images     int      `json:"images"`
	Seconds    float64  `json:"seconds"`
	Validation []Figure `json:"validation,omitempty"`
}

// recorder keeps the figures of every epoch in a run folder, as CSV, as JSON
// lines and as curves, and passes everything on. A folder that cannot be written
// does not end a fit.
type recorder struct {
	trainer.Progress
	dir     string
	batches int
	// losses are the totals of all micro-batches of the fit so far.
	losses func() []float64

	records []epochRecord
	images  int
	began   time.Time
	failed  bool
	log     io.Writer // nil for none
}

// startRecords puts a recorder before the progress of a fit that has a folder;
// it is nil for one that has none.
func startRecords(o *trainer.Options, d trainer.Data) (*recorder, error) {
	if o.Dir == "" {
		return nil, nil
	}
	records, err := newRecorder(o.Progress, o.Dir, d.Train.Batches(), o.Resume != "", o.Log)
	if err != nil {
		return nil, err
	}
	o.Progress = records
	return records, nil
}

// newRecorder starts the records of a fit, or continues those of a resumed one.
func newRecorder(inner trainer.Progress, dir string, batches int, resumed bool, log io.Writer) (*recorder, error) {
	r := &recorder{Progress: inner, dir: dir, batches: batches, log: log}
	file := filepath.Join(dir, MetricsJSONName)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || !resumed {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run.dir: %w; make the folder readable", err)
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		var record epochRecord
		if err := json.Unmarshal(line, &record); err != nil {
			return nil, fmt.Errorf("%s:%d: not a record of an epoch: %w; remove the file to record from here on", file, number, err)
		}
		r.records = append(r.records, record)
	}
	return r, nil
}

// start draws the first batches and tells the recorder where the losses are. A
// fit without a folder has no recorder.
func (r *recorder) start(ctx context.Context, losses func() []float64, d trainer.Data) error {
	if r == nil {
		return nil
	}
	r.losses = losses
	return drawBatches(ctx, r.dir, d)
}

// Begin implements trainer.Progress.
func (r *recorder) Begin(epoch, batch int) {
	r.images, r.began = 0, time.Now()
	r.Progress.Begin(epoch, batch)
}

// Step implements trainer.Progress.
func (r *recorder) Step(images int, loss float64) {
	r.images += images
	r.Progress.Step(images, loss)
}

// End implements trainer.Progress.
func (r *recorder) End(epoch int, validation []trainer.Term) {
	r.Progress.End(epoch, validation)
	var loss mean
	for _, total := range r.losses()[epoch*r.batches:] {
		loss.add(total)
	}
	// A resumed fit repeats the epoch that it was interrupted in.
	r.records = slices.DeleteFunc(r.records, func(old epochRecord) bool { return old.Epoch >= epoch })
	r.records = append(r.records, epochRecord{epoch, Number(loss.value()), r.images, time.Since(r.began).Seconds(), figuresOf(validation)})
	if err := r.write(); err != nil && !r.failed {
		r.failed = true
		if r.log != nil {
			fmt.Fprintf(r.log, "warning: the figures of epoch %d cannot be recorded: %v\n", epoch+1, err)
		}
	}
}

// write writes all files anew, each whole or not at all.
func (r *recorder) write() error {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, record := range r.records {
		if err := encoder.Encode(record); err != nil {
			return err
		}
	}
	table, err := r.table()
	if err != nil {
		return err
	}
	return errors.Join(
		renameio.WriteFile(filepath.Join(r.dir, MetricsJSONName), lines.Bytes(), 0o644),
		renameio.WriteFile(filepath.Join(r.dir, MetricsCSVName), table, 0o644),
		r.drawLoss(filepath.Join(r.dir, LossCurveName)),
		r.drawMetrics(filepath.Join(r.dir, MetricsCurveName)),
	)
}

// table is the CSV: a column for every validation figure that any epoch has.
func (r *recorder) table() ([]byte, error) {
	var names []string
	for _, record := range r.records {
		for _, term := range record.Validation {
			if !slices.Contains(names, term.Name) {
				names = append(names, term.Name)
			}
		}
	}
	header := []string{"epoch", "loss", "images", "seconds"}
	for _, name := range names {
		header = append(header, "val_"+name)
	}
	var text bytes.Buffer
	writer := csv.NewWriter(&text)
	rows := [][]string{header}
	for _, record := range r.records {
		row := []string{strconv.Itoa(record.Epoch), number(float64(record.Loss)), strconv.Itoa(record.Images), number(record.Seconds)}
		for _, name := range names {
			cell := ""
			for _, term := range record.Validation {
				if term.Name == name {
					cell = number(float64(term.Value))
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	if err := writer.WriteAll(rows); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

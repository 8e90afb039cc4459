package trainer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/reprise-ml/reprise/internal/data"
)

// LossesName is the file of all losses in a run folder: one line per
// micro-batch with every digit, so that a reader can compare fits.
const LossesName = "losses.csv"

// lossLog keeps the totals of a fit in memory and, in a run folder, on disk.
type lossLog struct {
	totals []float64
	file   *os.File
	out    *bufio.Writer
	header string
}

// openLossLog continues the file of a run folder after its first done lines,
// or starts it.
func openLossLog(dir string, done int) (*lossLog, error) {
	l := &lossLog{}
	if dir == "" {
		return l, nil
	}
	path := filepath.Join(dir, LossesName)
	kept, err := l.read(path, done)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("run.dir: %w; give a folder that can be written", err)
	}
	// The lines that the checkpoint counts on are on disk at every moment: a fit
	// that is killed before its next checkpoint resumes from the same one again.
	if err := renameio.WriteFile(path, kept, 0o644); err != nil {
		return nil, fmt.Errorf("run.dir: %w; give a folder that can be written", err)
	}
	if l.file, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err != nil {
		return nil, fmt.Errorf("run.dir: %w; give a folder that can be written", err)
	}
	l.out = bufio.NewWriter(l.file)
	return l, nil
}

// read takes the first done lines of an earlier part of the fit.
func (l *lossLog) read(path string, done int) ([]byte, error) {
	if done == 0 {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing; resume in the folder of the fit, or copy its %s beside the checkpoint", path, LossesName)
	}
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) < done+1 {
		return nil, fmt.Errorf("%s has fewer lines than the checkpoint has steps (%d); it belongs to another fit", path, done)
	}
	l.header = string(lines[0])
	for i, line := range lines[1 : done+1] {
		fields := strings.Split(strings.TrimSuffix(string(line), "\n"), ",")
		if len(fields) < 3 {
			return nil, fmt.Errorf("%s:%d: want epoch, batch, loss and terms", path, i+2)
		}
		total, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+2, err)
		}
		l.totals = append(l.totals, total)
	}
	return bytes.Join(lines[:done+1], nil), nil
}

// note records the loss of the micro-batch at a position.
func (l *lossLog) note(at data.Position, total float64, terms []Term) error {
	l.totals = append(l.totals, total)
	if l.out == nil {
		return nil
	}
	names, values := "epoch,batch,loss", fmt.Sprintf("%d,%d,%s", at.Epoch, at.Batch, exact(total))
	for _, t := range terms {
		names += "," + t.Name
		values += "," + exact(t.Value)
	}
	if l.header == "" {
		l.header = names + "\n"
		if _, err := l.out.WriteString(l.header); err != nil {
			return err
		}
	}
	_, err := l.out.WriteString(values + "\n")
	return err
}

// exact prints a number so that it reads back to the same bits.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (l *lossLog) flush() error {
	if l.out == nil {
		return nil
	}
	return l.out.Flush()
}

func (l *lossLog) close() error {
	if l.out == nil {
		return nil
	}
	return errors.Join(l.out.Flush(), l.file.Close())
}

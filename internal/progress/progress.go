// Package progress shows how far a fit is: a live line on a terminal, and one
// plain line per epoch everywhere.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// redraw is how often the live line may be drawn.
const redraw = 100 * time.Millisecond

// Meter reports the progress of one epoch after the other. It is used from one
// goroutine.
type Meter struct {
	writer   io.Writer
	terminal bool
	now      func() time.Time

	title             string
	steps, totalSteps int
	images            int
	started           time.Time

	// bar is nil when nothing is drawn live; undrawn counts the images that it
	// does not show yet, and drawn is when it was drawn last.
	bar     *progressbar.ProgressBar
	undrawn int
	drawn   time.Time
}

// NewMeter reports to a writer: live when it is a terminal, else only the plain
// line at the end of each epoch. A nil writer silences the meter. A command that
// prints JSON gives a writer that is not the one of its JSON, or nil.
func NewMeter(writer io.Writer) *Meter {
	if writer == nil {
		writer = io.Discard
	}
	file, ok := writer.(*os.File)
	return &Meter{writer: writer, terminal: ok && term.IsTerminal(int(file.Fd())), now: time.Now}
}

// Begin starts an epoch of that many steps and images, such as "epoch 3/100".
func (m *Meter) Begin(title string, steps, images int) {
	m.title, m.totalSteps, m.steps, m.images, m.undrawn = title, steps, 0, 0, 0
	m.started = m.now()
	m.drawn, m.bar = m.started, nil
	if !m.terminal {
		return
	}
	// The bar counts images, so that the time left is right when the last batch
	// is short.
	m.bar = progressbar.NewOptions(images,
		progressbar.OptionSetWriter(m.writer),
		progressbar.OptionSetDescription(title),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetWidth(24),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetRenderBlankState(true),
	)
}

// Step reports one step over that many images with a short text, such as the
// losses.
func (m *Meter) Step(images int, text string) error {
	m.steps++
	m.images += images
	m.undrawn += images
	if m.bar == nil || m.now().Sub(m.drawn) < redraw {
		return nil
	}
	m.bar.Describe(fmt.Sprintf("%s  step %d/%d  %.1f images/s  %s", m.title, m.steps, m.totalSteps, m.rate(), text))
	err := m.bar.Add(m.undrawn)
	m.undrawn, m.drawn = 0, m.now()
	return err
}

// rate is the images per second since the epoch began.
func (m *Meter) rate() float64 {
	if seconds := m.now().Sub(m.started).Seconds(); seconds > 0 {
		return float64(m.images) / seconds
	}
	return 0
}

// End closes the epoch, finished or not, and writes its plain line: title, steps,
// images, images per second, seconds and a short text.
func (m *Meter) End(text string) error {
	if m.bar != nil {
		if err := m.bar.Finish(); err != nil {
			return err
		}
		m.bar = nil
	}
	rate, seconds := m.rate(), m.now().Sub(m.started).Seconds()
	_, err := fmt.Fprintf(m.writer, "%s  %d steps  %d images  %.1f images/s  %.2f s  %s\n",
		m.title, m.steps, m.images, rate, seconds, text)
	return err
}

package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Entry is a live state entry of a model: floating-point with Value, or an
// integer counter with Count; the other is nil. Shape is the dimensions of
// either.
type Entry[T device.Float] struct {
	Name  string
	Shape []int
	Value []T
	Count []int64
}

// Entries stores copies of live state entries.
func Entries[T device.Float](entries []Entry[T]) []Tensor {
	tensors := make([]Tensor, len(entries))
	for i, e := range entries {
		if e.Count != nil {
			tensors[i] = Integer(e.Name, e.Shape, e.Count)
		} else {
			tensors[i] = Float(e.Name, e.Shape, e.Value)
		}
	}
	return tensors
}

// Report lists, sorted, what happened to every entry of a transfer.
type Report struct {
	Loaded  []string  // entries that took the stored values
	Skipped []Skipped // stored tensors that fit no entry, and why
	Missing []string  // entries that kept their values: nothing fitting is stored
}

// Skipped is a stored tensor that was not loaded.
type Skipped struct {
	Name   string
	Reason string
}

// String is a summary for a log.
func (r Report) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d entries loaded, %d stored tensors skipped, %d entries kept", len(r.Loaded), len(r.Skipped), len(r.Missing))
	for _, s := range r.Skipped {
		fmt.Fprintf(&text, "\nskipped %s: %s", s.Name, s.Reason)
	}
	for _, name := range r.Missing {
		fmt.Fprintf(&text, "\nkept %s", name)
	}
	return text.String()
}

// Transfer loads stored tensors into the entries of the same name and shape, for
// instance a network trained on another class count, and reports the rest. It is
// an error when nothing fits, or when a tensor cannot be read exactly; no entry
// has been changed then.
func Transfer[T device.Float](entries []Entry[T], stored []Tensor) (Report, error) {
	return transfer(entries, stored, func(r Report) error {
		if len(r.Loaded) == 0 {
			return fmt.Errorf("none of the %d stored tensors fits one of the %d entries of the network; check task and scale", len(stored), len(entries))
		}
		return nil
	})
}

// Restore loads stored tensors into exactly their entries, as a resumed fit
// needs. A missing, superfluous or differently shaped tensor is an error, and no
// entry has been changed then.
func Restore[T device.Float](entries []Entry[T], stored []Tensor) error {
	_, err := transfer(entries, stored, func(r Report) error {
		if len(r.Skipped) > 0 {
			return fmt.Errorf("stored tensor %q does not belong to this network: %s; resume with the settings of the checkpoint", r.Skipped[0].Name, r.Skipped[0].Reason)
		}
		if len(r.Missing) > 0 {
			return fmt.Errorf("entry %q is not stored; resume with the settings of the checkpoint", r.Missing[0])
		}
		return nil
	})
	return err
}

// transfer matches entries and tensors, lets accept judge the match, and only
// then copies.
func transfer[T device.Float](entries []Entry[T], stored []Tensor, accept func(Report) error) (Report, error) {
	var report Report
	byName := make(map[string]*Entry[T], len(entries))
	for i := range entries {
		byName[entries[i].Name] = &entries[i]
	}
	var copies []func()
	loaded := map[string]bool{}
	for _, t := range sorted(stored) {
		entry := byName[t.Name]
		reason := mismatch(entry, t)
		if reason != "" {
			report.Skipped = append(report.Skipped, Skipped{t.Name, reason})
			continue
		}
		assign, err := assignment(entry, t)
		if err != nil {
			return Report{}, err
		}
		copies = append(copies, assign)
		loaded[t.Name] = true
		report.Loaded = append(report.Loaded, t.Name)
	}
	for _, e := range entries {
		if !loaded[e.Name] {
			report.Missing = append(report.Missing, e.Name)
		}
	}
	slices.Sort(report.Missing)
	if err := accept(report); err != nil {
		return Report{}, err
	}
	for _, assign := range copies {
		assign()
	}
	return report, nil
}

// mismatch is why a tensor does not fit an entry, or empty.
func mismatch[T device.Float](entry *Entry[T], t Tensor) string {
	switch {
	case entry == nil:
		return "the network has no such entry"
	case !slices.Equal(entry.Shape, t.Shape()):
		return fmt.Sprintf("stored shape %v, network shape %v", t.Shape(), entry.Shape)
	case (entry.Count != nil) == t.IsFloat():
		return fmt.Sprintf("stored as %s, of the other kind in the network", t.dtype)
	}
	return ""
}

// assignment reads a tensor and returns the copy into its entry.
func assignment[T device.Float](entry *Entry[T], t Tensor) (func(), error) {
	if entry.Count != nil {
		count, err := integers(t)
		if err != nil {
			return nil, err
		}
		return func() { copy(entry.Count, count) }, nil
	}
	value, err := floats[T](t)
	if err != nil {
		return nil, err
	}
	return func() { copy(entry.Value, value) }, nil
}

package replay

import (
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Entry is one parameter or buffer as plain values, row-major. One of the three
// slices holds them: Int64 for counters, else the type of the fit's weights.
type Entry struct {
	Name      string    `json:"name"`
	Parameter bool      `json:"parameter"` // else a buffer
	Shape     []int     `json:"shape"`
	Float32   []float32 `json:"float32,omitempty"`
	Float64   []float64 `json:"float64,omitempty"`
	Int64     []int64   `json:"int64,omitempty"`
}

// Len is the number of values that the entry holds.
func (e Entry) Len() int { return len(e.Float32) + len(e.Float64) + len(e.Int64) }

// Snapshot copies all parameters and buffers, stage by stage, each in the order
// of its plan. Names, order and values do not depend on recording, and the copy
// holds nothing of the device.
func (f *Fit) Snapshot() ([]Entry, error) {
	if err := f.usable(); err != nil {
		return nil, err
	}
	var state []Entry
	for _, e := range f.entries() {
		read, err := e.read()
		if err != nil {
			return nil, f.settle(fmt.Errorf("state entry %s: %w", e.name, err))
		}
		state = append(state, read)
	}
	return state, nil
}

// Restore writes a snapshot back, in any order of entries. It must hold every
// entry of the fit and no other, which is verified before anything is written.
// Recordings stay valid: they read the same memory.
func (f *Fit) Restore(state []Entry) error {
	if err := f.usable(); err != nil {
		return err
	}
	given := map[string]Entry{}
	for _, e := range state {
		if _, twice := given[e.Name]; twice {
			return fmt.Errorf("state entry %s is given twice; keep one", e.Name)
		}
		given[e.Name] = e
	}
	wanted := f.entries()
	known := map[string]bool{}
	for _, w := range wanted {
		known[w.name] = true
		e, found := given[w.name]
		if !found {
			return fmt.Errorf("state entry %s is missing; restore a snapshot of the same model", w.name)
		}
		if err := w.accepts(e); err != nil {
			return err
		}
	}
	for _, e := range state {
		if !known[e.Name] {
			return fmt.Errorf("state entry %s does not exist in this model; restore a snapshot of the same model", e.Name)
		}
	}
	for _, w := range wanted {
		if err := w.write(given[w.name]); err != nil {
			return f.settle(fmt.Errorf("state entry %s: %w", w.name, err))
		}
	}
	return nil
}

// entries lists the state of all stages.
func (f *Fit) entries() []entry {
	var all []entry
	for _, s := range f.stages {
		all = append(all, s.entries()...)
	}
	return all
}

// entry is a parameter or buffer on the device.
type entry struct {
	name      string
	parameter bool
	shape     []int
	tensor    device.Tensor
}

// entriesOf lists the state entries of a plan: parameters, then buffers.
func entriesOf(plan *ir.Stage) []entry {
	var all []entry
	for _, p := range plan.Parameters {
		all = append(all, entry{name: p.Name, parameter: true, shape: p.Shape})
	}
	for _, b := range plan.Buffers {
		all = append(all, entry{name: b.Name, shape: b.Shape})
	}
	return all
}

func (s *Stage) entries() []entry {
	all := entriesOf(s.plan)
	for i := range all {
		if all[i].parameter {
			all[i].tensor = s.loaded.Parameter(i)
		} else {
			all[i].tensor = s.loaded.Buffer(i - len(s.plan.Parameters))
		}
	}
	return all
}

func (e entry) whole() bool {
	return e.tensor.Type() == device.TypeInt64 || e.tensor.Type() == device.TypeInt32
}

func (e entry) read() (Entry, error) {
	out := Entry{Name: e.name, Parameter: e.parameter, Shape: slices.Clone(e.shape)}
	n := device.Elements(e.shape)
	switch {
	case e.whole():
		out.Int64 = make([]int64, n)
		return out, e.tensor.ReadInt64(out.Int64)
	case e.tensor.Type() == device.TypeFloat64:
		out.Float64 = make([]float64, n)
		return out, e.tensor.ReadFloat64(out.Float64)
	}
	out.Float32 = make([]float32, n)
	return out, e.tensor.ReadFloat32(out.Float32)
}

// accepts refuses values of another shape, and fractions for counters.
func (e entry) accepts(given Entry) error {
	if !slices.Equal(e.shape, given.Shape) || given.Len() != device.Elements(e.shape) {
		return fmt.Errorf("state entry %s has shape %v with %d values, the model has %v; restore a snapshot of the same model", e.name, given.Shape, given.Len(), e.shape)
	}
	if e.whole() != (given.Int64 != nil) {
		return fmt.Errorf("state entry %s: whole numbers and fractions are mixed up; restore a snapshot of the same model", e.name)
	}
	return nil
}

func (e entry) write(given Entry) error {
	switch {
	case given.Int64 != nil:
		return e.tensor.WriteInt64(given.Int64)
	case given.Float64 != nil:
		return e.tensor.WriteFloat64(given.Float64)
	}
	return e.tensor.WriteFloat32(given.Float32)
}

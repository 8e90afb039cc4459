package pass

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// check proves the finished plan: only kernels are left, every view lies in
// its storage, storages that share memory are never alive together, launches that
// meet in memory are in order, nothing is read before it was written, and names of
// launches are unique.
func check(s *ir.Stage) error {
	for _, ops := range programs(s) {
		names := map[string]bool{}
		for i := range ops {
			op := &ops[i]
			switch op.Do.(type) {
			case *ir.BatchNorm, *ir.Concat, *ir.Slice, *ir.Reshape:
				return fmt.Errorf("%s: %s is still a %s", op.Pos, op.Name, op.Do.Kind())
			}
			if names[op.Name] {
				return fmt.Errorf("%s: two launches are called %s", op.Pos, op.Name)
			}
			names[op.Name] = true
		}
	}
	r, shared := newRegions(s), sharing(s)
	if err := checkPlaces(s, shared); err != nil {
		return err
	}
	if err := checkOrder(r, shared); err != nil {
		return err
	}
	return checkReads(r)
}

// checkReads runs each program over sets of written elements.
func checkReads(r *regions) error {
	s := r.stage
	for _, mode := range []ir.Mode{ir.Training, ir.Eval} {
		w := &written{regions: r, done: map[ir.StorageID]bitset{}}
		for _, op := range s.Forward {
			if op.Mode != ir.Always && op.Mode != mode {
				continue
			}
			if err := w.run(&op); err != nil {
				return err
			}
		}
		if err := w.outputs(s, mode); err != nil {
			return err
		}
		if mode == ir.Eval {
			break
		}
		for _, b := range s.Backward {
			after := w.fork()
			for _, p := range s.Outputs {
				if p.Gradient != 0 && contains(b.Present, p.Name) {
					if err := after.write(p.Gradient); err != nil {
						return err
					}
				}
			}
			for i := range b.Ops {
				if err := after.run(&b.Ops[i]); err != nil {
					return fmt.Errorf("backward %v: %w", b.Present, err)
				}
			}
		}
	}
	return nil
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// written follows which elements hold a value.
type written struct {
	regions *regions
	done    map[ir.StorageID]bitset
}

func (w *written) fork() *written {
	done := map[ir.StorageID]bitset{}
	for id, b := range w.done {
		done[id] = append(bitset(nil), b...)
	}
	return &written{regions: w.regions, done: done}
}

func (w *written) write(ref ir.Ref) error {
	region, err := w.regions.of(ref)
	if err != nil {
		return err
	}
	id := w.regions.stage.Tensor(ref).Storage
	if w.done[id] == nil {
		w.done[id] = make(bitset, len(region))
	}
	w.done[id].add(region)
	return nil
}

func (w *written) run(op *ir.Op) error {
	for _, ref := range op.Reads() {
		region, err := w.regions.of(ref)
		if err != nil {
			return err
		}
		switch w.regions.stage.StorageOf(ref).Space {
		case ir.Input, ir.ParameterSpace, ir.BufferSpace:
			continue
		}
		if done := w.done[w.regions.stage.Tensor(ref).Storage]; done == nil || !done.covers(region) {
			return fmt.Errorf("%s: %s reads parts of %s that nothing wrote", op.Pos, op.Name, w.regions.stage.Tensor(ref).Name)
		}
	}
	for _, ref := range op.Writes() {
		if err := w.write(ref); err != nil {
			return err
		}
	}
	return nil
}

// outputs checks that a forward program gives what it declares.
func (w *written) outputs(s *ir.Stage, mode ir.Mode) error {
	for _, p := range s.Outputs {
		space := s.StorageOf(p.Tensor).Space
		if mode == ir.Eval && p.TrainingOnly || space == ir.Input {
			continue
		}
		region, err := w.regions.of(p.Tensor)
		if err != nil {
			return err
		}
		if done := w.done[s.Tensor(p.Tensor).Storage]; done == nil || !done.covers(region) {
			return fmt.Errorf("the output %s is not completely written", p.Name)
		}
	}
	return nil
}

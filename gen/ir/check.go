package ir

import "fmt"

// checkReferences verifies that no tensor, storage, lane or wait of a decoded
// stage points outside the stage, and that its scratch storages have places.
func (s *Stage) checkReferences() error {
	for i, t := range s.Tensors {
		if t.Storage < 0 || int(t.Storage) > len(s.Storages) {
			return fmt.Errorf("plan of stage %s: tensor %d (%s) has storage %d of %d", s.Name, i+1, t.Name, t.Storage, len(s.Storages))
		}
		if t.Storage != 0 && len(t.Strides) != len(t.Shape) {
			return fmt.Errorf("plan of stage %s: tensor %d (%s) has %d strides for %d sizes", s.Name, i+1, t.Name, len(t.Strides), len(t.Shape))
		}
	}
	for i, st := range s.Storages {
		if st.Space == Arena && (st.Place.From < 0 || st.Place.From >= st.Place.To) {
			return fmt.Errorf("plan of stage %s: storage %d (%s) has no place in the arena, from %d to %d", s.Name, i+1, st.Name, st.Place.From, st.Place.To)
		}
	}
	for _, ports := range [][]Port{s.Inputs, s.Outputs} {
		for _, p := range ports {
			if err := s.checkRefs(p.Name, p.Tensor, p.Tensor, p.Gradient); err != nil {
				return err
			}
		}
	}
	for _, p := range s.Parameters {
		if err := s.checkRefs(p.Name, p.Tensor, p.Tensor, p.Gradient); err != nil {
			return err
		}
	}
	for _, b := range s.Buffers {
		if err := s.checkRefs(b.Name, b.Tensor, b.Tensor); err != nil {
			return err
		}
	}
	if err := s.checkOps(s.Forward); err != nil {
		return err
	}
	for _, b := range s.Backward {
		if err := s.checkOps(b.Ops); err != nil {
			return err
		}
	}
	return nil
}

// checkRefs checks refs, of which needed must not be 0.
func (s *Stage) checkRefs(name string, needed Ref, refs ...Ref) error {
	if needed == 0 {
		return fmt.Errorf("plan of stage %s: %s has no tensor", s.Name, name)
	}
	for _, r := range refs {
		if r < 0 || int(r) > len(s.Tensors) {
			return fmt.Errorf("plan of stage %s: %s refers to tensor %d of %d", s.Name, name, r, len(s.Tensors))
		}
	}
	return nil
}

func (s *Stage) checkOps(ops []Op) error {
	for i := range ops {
		op := &ops[i]
		var err error
		op.Do.Operands(func(role string, ref *Ref, _ Access) {
			if err == nil && (*ref < 0 || int(*ref) > len(s.Tensors)) {
				err = fmt.Errorf("plan of stage %s: %s of %s refers to tensor %d of %d", s.Name, role, op.Name, *ref, len(s.Tensors))
			}
		})
		if err != nil {
			return err
		}
		for _, w := range op.Wait {
			if w < 0 || w >= i {
				return fmt.Errorf("plan of stage %s: %s waits for launch %d, which is not before it", s.Name, op.Name, w)
			}
		}
		if op.Lane < 0 {
			return fmt.Errorf("plan of stage %s: %s has lane %d", s.Name, op.Name, op.Lane)
		}
	}
	return nil
}

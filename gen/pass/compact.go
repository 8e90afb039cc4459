package pass

import (
	"github.com/reprise-ml/reprise/gen/ir"
)

// compact removes tensors and storages that nothing refers to any more and
// numbers the others in the order of their first use, so that a small change
// of a definition is a small change of the plan.
func compact(s *ir.Stage) error {
	c := compactor{stage: s, tensors: map[ir.Ref]ir.Ref{}, storages: map[ir.StorageID]ir.StorageID{}}
	for _, ports := range [][]ir.Port{s.Inputs, s.Outputs} {
		for i := range ports {
			c.keep(&ports[i].Tensor)
		}
	}
	for i := range s.Parameters {
		c.keep(&s.Parameters[i].Tensor)
	}
	for i := range s.Buffers {
		c.keep(&s.Buffers[i].Tensor)
	}
	c.keepOps(s.Forward)
	for _, ports := range [][]ir.Port{s.Inputs, s.Outputs} {
		for i := range ports {
			c.keep(&ports[i].Gradient)
		}
	}
	for i := range s.Parameters {
		c.keep(&s.Parameters[i].Gradient)
	}
	for _, b := range s.Backward {
		c.keepOps(b.Ops)
	}
	s.Tensors, s.Storages = c.keptTensors, c.keptStorages
	return nil
}

type compactor struct {
	stage        *ir.Stage
	tensors      map[ir.Ref]ir.Ref
	storages     map[ir.StorageID]ir.StorageID
	keptTensors  []ir.Tensor
	keptStorages []ir.Storage
}

func (c *compactor) keepOps(ops []ir.Op) {
	for i := range ops {
		ops[i].Do.Operands(func(_ string, ref *ir.Ref, _ ir.Access) { c.keep(ref) })
	}
}

func (c *compactor) keep(ref *ir.Ref) {
	if *ref == 0 {
		return
	}
	if kept, ok := c.tensors[*ref]; ok {
		*ref = kept
		return
	}
	t := *c.stage.Tensor(*ref)
	storage, ok := c.storages[t.Storage]
	if !ok {
		c.keptStorages = append(c.keptStorages, *c.stage.Storage(t.Storage))
		storage = ir.StorageID(len(c.keptStorages))
		c.storages[t.Storage] = storage
	}
	t.Storage = storage
	c.keptTensors = append(c.keptTensors, t)
	kept := ir.Ref(len(c.keptTensors))
	c.tensors[*ref] = kept
	*ref = kept
}

package replay

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// observer is a function that wants to see values of a stage.
type observer struct {
	stage *Stage // nil: every stage
	name  string // empty: the outputs
	ref   ir.Ref // of a tensor inside the stage; 0 when name is empty
	see   func(stage *Stage, value *Tensor)
}

// Observe registers a function that sees a named tensor after the launch that
// writes it, in every forward pass; an empty name stands for the outputs of the
// stage, in order. While any observer is registered the stage runs natively,
// whole (guard G8). The handle is read-only and valid inside the function.
// remove takes the observer away again; calling it twice does nothing.
func (s *Stage) Observe(name string, see func(value *Tensor)) (remove func(), err error) {
	o := &observer{stage: s, name: name, see: func(_ *Stage, value *Tensor) { see(value) }}
	if name != "" {
		if o.ref = s.find(name); o.ref == 0 {
			return nil, fmt.Errorf("stage %s has no tensor %q; use a name of its plan", s.plan.Name, name)
		}
	}
	s.observers = append(s.observers, o)
	return func() { s.observers = without(s.observers, o) }, nil
}

// Observe registers a function that sees the outputs of every stage of the fit
// after each forward pass; see Stage.Observe.
func (f *Fit) Observe(see func(stage *Stage, output *Tensor)) (remove func()) {
	o := &observer{see: see}
	f.observers = append(f.observers, o)
	return func() { f.observers = without(f.observers, o) }
}

func without(all []*observer, gone *observer) []*observer {
	var kept []*observer
	for _, o := range all {
		if o != gone {
			kept = append(kept, o)
		}
	}
	return kept
}

// find gives a tensor by the name of its port or its own; 0 when no forward
// pass writes one of that name.
func (s *Stage) find(name string) ir.Ref {
	for _, p := range s.plan.Outputs {
		if p.Name == name {
			return p.Tensor
		}
	}
	for i, t := range s.plan.Tensors {
		if t.Name == name && lastWrite(s.plan, s.plan.Forward, ir.Ref(i+1)) != "" {
			return ir.Ref(i + 1)
		}
	}
	return 0
}

// lastWrite names the operation after which a tensor holds its value: the last
// one that writes its storage, because a tensor may be written in parts. It is
// empty when none does.
func lastWrite(plan *ir.Stage, ops []ir.Op, ref ir.Ref) string {
	last := ""
	for i := range ops {
		for _, written := range ops[i].Writes() {
			if plan.Tensor(written).Storage == plan.Tensor(ref).Storage {
				last = ops[i].Name
			}
		}
	}
	return last
}

// runNatively issues the launches of a program, and shows values of forward
// programs to the observers.
func (s *Stage) runNatively(b device.Binding, p device.Program) error {
	watching := append(append([]*observer(nil), s.fit.observers...), s.observers...)
	if p.Backward || len(watching) == 0 {
		return b.Run(p)
	}
	if err := s.runObserved(b, p, watching); err != nil {
		return err
	}
	for _, o := range watching {
		if o.ref != 0 {
			continue
		}
		for i, port := range s.plan.Outputs {
			if p.Mode == ir.Training || !port.TrainingOnly {
				o.show(s, b.Output(i))
			}
		}
	}
	return nil
}

// runObserved runs a program and shows tensors inside the stage as soon as they
// are written, because their memory is used again later.
func (s *Stage) runObserved(b device.Binding, p device.Program, watching []*observer) error {
	ops := p.Ops(s.plan)
	after := map[string][]*observer{}
	for _, o := range watching {
		if o.ref != 0 {
			last := lastWrite(s.plan, ops, o.ref)
			after[last] = append(after[last], o)
		}
	}
	delete(after, "") // not written in this mode
	if len(after) == 0 {
		return b.Run(p)
	}
	observable, ok := b.(device.Observable)
	if !ok {
		return fmt.Errorf("%s cannot show tensors inside a stage; observe the outputs only", s.fit.dev.Info().Name)
	}
	return observable.RunObserved(p, func(op *ir.Op, tensor func(ir.Ref) device.Tensor) error {
		for _, o := range after[op.Name] {
			o.show(s, tensor(o.ref))
		}
		return nil
	})
}

// show calls the observer with a handle that ends when it returns.
func (o *observer) show(s *Stage, value device.Tensor) {
	seen := life{until: "the observer's return"}
	o.see(s, newTensor(value, &seen, true))
	seen.end()
}

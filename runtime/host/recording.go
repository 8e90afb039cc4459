package host

import (
	"errors"
	"fmt"

	"github.com/reprise-ml/reprise/runtime/device"
)

// launch is one kernel with all its operands resolved: phases that run one
// after another.
type launch []phase

func (l launch) issue(p *pool) {
	for i := range l {
		p.run(l[i])
	}
}

// recording implements device.Recording: the launches of a program, prepared.
type recording[T device.Float] struct {
	binding  *binding[T]
	launches []launch
	closed   bool
}

// Record implements device.Binding. It fails for a stage whose plan says that
// it cannot be recorded (field case SE-03).
func (b *binding[T]) Record(p device.Program) (device.Recording, error) {
	ops, err := b.ops(p)
	if err != nil {
		return nil, err
	}
	plan := b.stage.plan
	if plan.Unrecordable != "" {
		return nil, fmt.Errorf("stage %s cannot be recorded: %s", plan.Name, plan.Unrecordable)
	}
	d := b.stage.device
	if err := d.event("record"); err != nil {
		return nil, err
	}
	r := &recording[T]{binding: b, launches: make([]launch, 0, len(ops))}
	for i := range ops {
		l, err := b.binder.launch(&ops[i])
		if err != nil {
			return nil, err
		}
		r.launches = append(r.launches, l)
	}
	b.recordings++
	d.count(func(c *device.Counters) { c.Recordings++ })
	return r, nil
}

// Replay implements device.Recording.
func (r *recording[T]) Replay() error {
	if r.closed {
		return errors.New("recording is closed")
	}
	d := r.binding.stage.device
	if err := d.event("replay"); err != nil {
		return err
	}
	d.count(func(c *device.Counters) { c.GraphLaunches++ })
	for _, l := range r.launches {
		l.issue(d.pool)
	}
	return nil
}

// Nodes implements device.Recording.
func (r *recording[T]) Nodes() int { return len(r.launches) }

// Close implements device.Recording.
func (r *recording[T]) Close() error {
	if r.closed {
		return errors.New("recording is already closed")
	}
	r.closed = true
	r.launches = nil
	r.binding.recordings--
	r.binding.stage.device.count(func(c *device.Counters) { c.Recordings-- })
	return nil
}

package trainer

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// Trained is an objective with parameters of its own, such as the flow of the
// keypoint likelihood. The learner owns their values: it starts them, trains
// them with those of the network, and keeps them in checkpoints and in the
// moving average. They are not part of the deployed network.
type Trained[T device.Float] interface {
	Objective[T]

	// Parameters gives names, shapes and starts, in a fixed order.
	Parameters() []ir.Parameter

	// With gives the same objective reading its parameters, at every
	// evaluation, from these slices, one per parameter and row-major.
	With(values [][]T) Objective[T]
}

// owned holds the parameters of an objective with their gradients.
type owned[T device.Float] struct {
	blocks    []*block[T]
	gradients [][]T
	present   []bool // a gradient that is not present is absent
}

// newOwned starts the parameters that an objective has, if any, and gives the
// objective that reads them.
func newOwned[T device.Float](objective Objective[T], seed uint64) (*owned[T], Objective[T]) {
	o := &owned[T]{}
	trained, has := objective.(Trained[T])
	if !has {
		return o, objective
	}
	var values [][]T
	for _, p := range trained.Parameters() {
		b := &block[T]{name: p.Name, shape: p.Shape, values: make([]T, device.Elements(p.Shape))}
		for i, v := range replay.Start(seed, p) {
			b.values[i] = T(v)
		}
		o.blocks = append(o.blocks, b)
		o.gradients = append(o.gradients, make([]T, len(b.values)))
		o.present = append(o.present, false)
		values = append(values, b.values)
	}
	return o, trained.With(values)
}

func (o *owned[T]) clear() { clear(o.present) }

// add adds the gradients of one backward pass, by name and times scale. One
// that is missing is absent and adds nothing.
func (o *owned[T]) add(gradients map[string][]T, scale T) error {
	used := 0
	for i, b := range o.blocks {
		g, present := gradients[b.name]
		if !present {
			continue
		}
		used++
		if len(g) != len(b.values) {
			return fmt.Errorf("the objective gave %d derivatives for its parameter %s of %d elements", len(g), b.name, len(b.values))
		}
		if !o.present[i] {
			clear(o.gradients[i])
			o.present[i] = true
		}
		for k, v := range g {
			o.gradients[i][k] += v * scale
		}
	}
	if used < len(gradients) {
		return fmt.Errorf("the objective gave derivatives for %d parameters, of which it declares %d; declare all of them", len(gradients), used)
	}
	return nil
}

// gradient gives the gradient of a parameter, nil when absent.
func (o *owned[T]) gradient(i int) []T {
	if !o.present[i] {
		return nil
	}
	return o.gradients[i]
}

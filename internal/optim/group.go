package optim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
	"github.com/reprise-ml/reprise/tasks/musgd"
)

// group is a set of tensors that one stage updates. Momentum lies in the order
// of the stage's inputs, class by class; gradients and weights are brought into
// it at every step.
type group[T device.Float] struct {
	stage   *replay.Stage
	classes []*class[T]
	members []*member[T]
	scalars map[string][]T
	inputs  []replay.Source // in the order of the plan, on the memory above
}

// class is the memory of one class of tensors.
type class[T device.Float] struct {
	musgd.Class
	gradient, momentum, weight []T
	newMomentum, update        result[T]
	used                       bool // a member has a gradient in this step
}

// result is an output of the stage as a slice: its memory where that can be
// addressed, else a copy.
type result[T device.Float] struct {
	output int // position in the plan
	values []T
	copied []T
}

// member is one tensor of a group.
type member[T device.Float] struct {
	name    string
	shape   []int
	class   *class[T]
	offset  int
	length  int
	created bool // has momentum

	parameter *Parameter[T] // of this step; nil while its gradient is absent
}

func (m *member[T]) of(values []T) []T { return values[m.offset:][:m.length] }

func (m *member[T]) momentum() []T { return m.of(m.class.momentum) }

// newGroup loads the stage for parameters. Members are sorted by name, so that
// the place of a tensor in memory, and with it the order of its sums, does not
// depend on the order in which a caller lists its parameters.
func newGroup[T device.Float](home Home, name string, steps int, parameters []Parameter[T]) (*group[T], error) {
	sorted := slices.Clone(parameters)
	slices.SortFunc(sorted, func(a, b Parameter[T]) int { return cmp.Compare(a.Name, b.Name) })
	shapes := make([][]int, len(sorted))
	for i, p := range sorted {
		shapes[i] = slices.Clone(p.Shape)
	}
	plan, err := planOf(name, steps, shapes)
	if err != nil {
		return nil, err
	}
	g := &group[T]{scalars: map[string][]T{}}
	for _, c := range musgd.Classes(shapes) {
		held := &class[T]{Class: c, gradient: make([]T, c.Length), momentum: make([]T, c.Length)}
		if c.Matrices() {
			held.weight = make([]T, c.Length)
		}
		g.classes = append(g.classes, held)
		offset := 0
		for _, i := range c.Members {
			m := &member[T]{name: sorted[i].Name, shape: shapes[i], class: held, offset: offset, length: device.Elements(shapes[i])}
			g.members = append(g.members, m)
			offset += m.length
		}
	}
	if err := g.connect(plan); err != nil {
		return nil, err
	}
	home.Wish.Precision = precisionOf[T]()
	if g.stage, err = home.Fit.AddStage(plan, home.Wish); err != nil {
		if home.Fit.Device().Kind != "host" {
			err = explain(err, name, steps)
		}
		return nil, err
	}
	return g, nil
}

// explain adds to an error of a device that runs generated kernels what the user of
// an optimizer may not know.
func explain(err error, name string, steps int) error {
	var missing *device.NotGeneratedError
	if errors.As(err, &missing) {
		return fmt.Errorf("%w (the optimizer is a stage of its own, whose kernels are generated: declare it by musgd.Define(%q, %d, <the network's stages>) and run go generate)", err, name, steps)
	}
	return fmt.Errorf("%w (the optimizer is a stage of its own and computes in FP32, whatever the precision of the network)", err)
}

// connect finds the memory of every port of the plan by its name.
func (g *group[T]) connect(plan *replay.Plan) error {
	memory := map[string]replay.Source{}
	results := map[string]*result[T]{}
	for _, c := range g.classes {
		memory[musgd.Gradient+c.Name()] = sourceOf(c.gradient, c.Shape())
		memory[musgd.OldMomentum+c.Name()] = sourceOf(c.momentum, c.Shape())
		memory[musgd.Weight+c.Name()] = sourceOf(c.weight, c.Shape())
		results[musgd.NewMomentum+c.Name()] = &c.newMomentum
		results[musgd.Update+c.Name()] = &c.update
	}
	for _, in := range plan.Inputs {
		source, found := memory[in.Name]
		if !found {
			g.scalars[in.Name] = make([]T, 1)
			source = sourceOf(g.scalars[in.Name], []int{1})
		}
		g.inputs = append(g.inputs, source)
	}
	for i, out := range plan.Outputs {
		r, found := results[out.Name]
		if !found {
			return fmt.Errorf("stage %s: the output %s belongs to no class of tensors; generate the package again", plan.Name, out.Name)
		}
		r.output = i
	}
	return nil
}

// run computes new momentum and updates of all members; nothing of the caller's
// changes. Without any gradient nothing is launched.
func (g *group[T]) run(scalars map[string]float64) error {
	present := false
	for _, c := range g.classes {
		c.used = false
	}
	for _, m := range g.members {
		if m.parameter == nil {
			continue
		}
		present, m.class.used = true, true
		copy(m.of(m.class.gradient), m.parameter.Gradient)
		if m.class.weight != nil {
			copy(m.of(m.class.weight), m.parameter.Value)
		}
	}
	if !present {
		return nil
	}
	for name, memory := range g.scalars {
		value, known := scalars[name]
		if !known {
			return fmt.Errorf("stage %s: there is no number %s; generate the package again", g.stage.Plan().Name, name)
		}
		memory[0] = T(value)
	}
	outputs, err := g.stage.Forward(g.inputs)
	if err != nil {
		return err
	}
	for _, c := range g.classes {
		if !c.used {
			continue
		}
		for _, r := range []*result[T]{&c.newMomentum, &c.update} {
			if err := r.read(outputs[r.output], c.Length); err != nil {
				return err
			}
		}
	}
	return nil
}

// read makes an output a slice.
func (r *result[T]) read(t *replay.Tensor, length int) error {
	inner, err := t.Device()
	if err != nil {
		return err
	}
	if values, ok := host.Slice[T](inner); ok {
		r.values = values
		return nil
	}
	if r.copied == nil {
		r.copied = make([]T, length)
	}
	r.values = r.copied
	return device.Read(t, r.values)
}

// commit takes over the results of the members that have a gradient. Those of
// the others are dropped: an absent gradient decays no momentum and no weight
// and creates no state (YOLO26 specification, training section 4.5).
func (g *group[T]) commit() {
	for _, m := range g.members {
		if m.parameter == nil {
			continue
		}
		copy(m.momentum(), m.of(m.class.newMomentum.values))
		m.created = true
		value, update := m.parameter.Value, m.of(m.class.update.values)
		for i, u := range update {
			value[i] -= u
		}
	}
}

// precisionOf is the precision in which a stage computes with elements of T,
// whatever the precision of the network's activations.
func precisionOf[T device.Float]() device.Precision {
	if _, double := any(T(0)).(float64); double {
		return device.Float64
	}
	return device.FP32
}

func sourceOf[T device.Float](values []T, shape []int) replay.Source {
	switch v := any(values).(type) {
	case []float32:
		return replay.Float32s(v, shape...)
	case []float64:
		return replay.Float64s(v, shape...)
	}
	panic("unreachable: Float has two members")
}

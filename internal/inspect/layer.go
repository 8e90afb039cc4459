package inspect

import (
	"fmt"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Layer is one line of the table of layers: a convolution with the batch norm
// and activation behind it, or another operation that computes something.
// Slices and changes of shape are no layers.
type Layer struct {
	Name       string  `json:"name"`             // prefix of its state entries, or name of the operation
	Kind       string  `json:"kind"`             // for example conv+BN+SiLU or upsample
	In         [][]int `json:"in"`               // shapes of its operands, without parameters
	Out        []int   `json:"out"`              // shape of its result
	Kernel     int     `json:"kernel,omitempty"` // window, 0 without
	Stride     int     `json:"stride,omitempty"`
	Groups     int     `json:"groups,omitempty"`
	Parameters int     `json:"parameters"`
	MACs       int     `json:"macs"` // multiply-accumulates for the whole batch

	ops []int // positions in Forward
}

// Layers lists the layers of a stage as its author wrote it, in order.
func Layers(s *ir.Stage, sizes ir.Sizes) ([]Layer, error) {
	if err := s.CheckSizes(sizes); err != nil {
		return nil, err
	}
	l := &lister{stage: s, sizes: sizes, readers: map[ir.Ref][]int{}, taken: map[int]bool{}, parameters: map[ir.Ref]ir.Parameter{}}
	for i := range s.Forward {
		for _, r := range s.Forward[i].Reads() {
			l.readers[r] = append(l.readers[r], i)
		}
	}
	for _, p := range s.Parameters {
		l.parameters[p.Tensor] = p
	}
	var layers []Layer
	for i := range s.Forward {
		switch s.Forward[i].Do.(type) {
		case *ir.Slice, *ir.Reshape:
			continue
		}
		if l.taken[i] {
			continue
		}
		layer, err := l.layer(i)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return layers, nil
}

type lister struct {
	stage      *ir.Stage
	sizes      ir.Sizes
	readers    map[ir.Ref][]int
	taken      map[int]bool // operations that are part of an earlier layer
	parameters map[ir.Ref]ir.Parameter
}

// layer describes the layer that starts at an operation.
func (l *lister) layer(at int) (Layer, error) {
	op := &l.stage.Forward[at]
	layer := Layer{Name: op.Name, Kind: strings.ReplaceAll(op.Do.Kind(), "_", " "), ops: []int{at}}
	last := op
	switch k := op.Do.(type) {
	case *ir.Conv2d:
		layer.Kernel, layer.Stride, layer.Groups = k.Kernel, k.Stride, k.Groups
		last = l.convolution(&layer, k)
	case *ir.MaxPool:
		layer.Kernel, layer.Stride = k.Kernel, k.Stride
	case *ir.Activate:
		layer.Kind = activationName(k.Activation)
	}
	var err error
	if layer.Out, err = l.shape(result(last)); err != nil {
		return Layer{}, err
	}
	for _, r := range op.Reads() {
		if l.stage.Tensor(r).Elem != ir.Activation {
			continue
		}
		in, err := l.shape(r)
		if err != nil {
			return Layer{}, err
		}
		layer.In = append(layer.In, in)
	}
	for _, i := range layer.ops {
		w, err := opWork(l.stage, &l.stage.Forward[i], l.sizes)
		if err != nil {
			return Layer{}, err
		}
		layer.MACs += w.MACs()
		for _, r := range l.stage.Forward[i].Reads() {
			if p, is := l.parameters[r]; is {
				layer.Parameters += elements(p.Shape)
			}
		}
	}
	return layer, nil
}

// convolution takes the batch norm and the activation behind a convolution into
// its layer, as far as each is the only reader, and returns the last of them.
func (l *lister) convolution(layer *Layer, k *ir.Conv2d) *ir.Op {
	last := &l.stage.Forward[layer.ops[0]]
	layer.Kind = "conv"
	layer.Name = strings.TrimSuffix(l.parameters[k.Weight].Name, ".weight")
	if k.Bias != 0 {
		layer.Kind = "conv+bias"
	}
	y := k.Y
	if i, ok := l.only(y); ok {
		if norm, is := l.stage.Forward[i].Do.(*ir.BatchNorm); is {
			layer.Kind += "+BN"
			layer.Name = commonScope(layer.Name, l.parameters[norm.Scale].Name)
			last, y = l.take(layer, i), norm.Y
		}
	}
	if i, ok := l.only(y); ok {
		if act, is := l.stage.Forward[i].Do.(*ir.Activate); is {
			layer.Kind += "+" + activationName(act.Activation)
			last = l.take(layer, i)
		}
	}
	return last
}

func (l *lister) take(layer *Layer, at int) *ir.Op {
	l.taken[at] = true
	layer.ops = append(layer.ops, at)
	return &l.stage.Forward[at]
}

// only finds the single reader of a value that is no output.
func (l *lister) only(ref ir.Ref) (int, bool) {
	for _, p := range l.stage.Outputs {
		if p.Tensor == ref {
			return 0, false
		}
	}
	if uses := l.readers[ref]; len(uses) == 1 {
		return uses[0], true
	}
	return 0, false
}

func (l *lister) shape(ref ir.Ref) ([]int, error) { return shapeAt(l.stage, ref, l.sizes) }

func shapeAt(s *ir.Stage, ref ir.Ref, sizes ir.Sizes) ([]int, error) {
	t := s.Tensor(ref)
	shape := make([]int, len(t.Shape))
	for i, d := range t.Shape {
		v, err := d.Eval(sizes)
		if err != nil {
			return nil, fmt.Errorf("stage %s: %s: %w", s.Name, t.Name, err)
		}
		shape[i] = v
	}
	return shape, nil
}

// result is what an operation gives: all kinds call it y.
func result(op *ir.Op) ir.Ref {
	var y ir.Ref
	op.Do.Operands(func(role string, ref *ir.Ref, _ ir.Access) {
		if role == "y" {
			y = *ref
		}
	})
	return y
}

// commonScope is the scope that two names share.
func commonScope(a, b string) string {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return strings.Join(x[:n], ".")
}

func activationName(f ir.Function) string {
	switch f {
	case ir.SiLU:
		return "SiLU"
	case ir.ReLU:
		return "ReLU"
	case ir.LeakyReLU:
		return "LeakyReLU"
	}
	return string(f)
}

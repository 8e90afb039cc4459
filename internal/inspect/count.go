package inspect

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Parameters is the number of trainable elements of a stage.
func Parameters(s *ir.Stage) int {
	total := 0
	for _, p := range s.Parameters {
		total += elements(p.Shape)
	}
	return total
}

// ParameterTensors is the number of trainable tensors.
func ParameterTensors(s *ir.Stage) int { return len(s.Parameters) }

// StateEntries is the number of entries that a checkpoint holds for a stage:
// parameters and buffers.
func StateEntries(s *ir.Stage) int { return len(s.Parameters) + len(s.Buffers) }

func elements(shape []int) int {
	n := 1
	for _, v := range shape {
		n *= v
	}
	return n
}

// Work is the work of a forward pass by the convention of the YOLO26
// specification (network section 10). Softmax, activations, additions, pooling
// and changes of shape count nothing.
type Work struct {
	Convolution int // multiply-accumulates of convolutions, without bias
	Product     int // multiply-accumulates of matrix products, as in attention
	Normalized  int // elements that batch norms write
	Upsampled   int // elements that upsamplings write
}

// MACs is the number of multiply-accumulates of convolutions and products.
func (w Work) MACs() int { return w.Convolution + w.Product }

// GFLOPs is 2e-9 (Convolution + Product + 2 Normalized + Upsampled).
func (w Work) GFLOPs() float64 {
	return 2e-9 * float64(w.Convolution+w.Product+2*w.Normalized+w.Upsampled)
}

func (w Work) add(o Work) Work {
	return Work{
		Convolution: w.Convolution + o.Convolution,
		Product:     w.Product + o.Product,
		Normalized:  w.Normalized + o.Normalized,
		Upsampled:   w.Upsampled + o.Upsampled,
	}
}

// ForwardWork is the work of the whole forward pass of a stage, as its author
// wrote it or after the passes. The error tells that the stage cannot have the
// sizes.
func ForwardWork(s *ir.Stage, sizes ir.Sizes) (Work, error) {
	if err := s.CheckSizes(sizes); err != nil {
		return Work{}, err
	}
	var total Work
	for i := range s.Forward {
		w, err := opWork(s, &s.Forward[i], sizes)
		if err != nil {
			return Work{}, err
		}
		total = total.add(w)
	}
	return total, nil
}

// opWork is the work of one operation. Before the passes a batch norm is one
// operation, after them it is a Normalize behind its statistics.
func opWork(s *ir.Stage, op *ir.Op, sizes ir.Sizes) (Work, error) {
	size := func(ref ir.Ref, factor int) (int, error) {
		n, err := ir.Elements(s.Tensor(ref).Shape).Times(factor).Eval(sizes)
		if err != nil {
			return 0, fmt.Errorf("stage %s: %s: %w", s.Name, op.Name, err)
		}
		return n, nil
	}
	var w Work
	var err error
	switch k := op.Do.(type) {
	case *ir.Conv2d:
		perOutput := 1
		for _, d := range s.Tensor(k.Weight).Shape[1:] {
			v, _ := d.Constant() // shapes of parameters are numbers
			perOutput *= v
		}
		w.Convolution, err = size(k.Y, perOutput)
	case *ir.MatMul:
		w.Product, err = productWork(s, k, sizes)
	case *ir.Attention:
		scores, mixed := k.Products(s)
		w.Product, err = scores.Add(mixed).Eval(sizes)
	case *ir.BatchNorm:
		w.Normalized, err = size(k.Y, 1)
	case *ir.Normalize:
		w.Normalized, err = size(k.Y, 1)
	case *ir.Upsample:
		w.Upsampled, err = size(k.Y, 1)
	}
	return w, err
}

// productWork is elements of the result times the inner size.
func productWork(s *ir.Stage, k *ir.MatMul, sizes ir.Sizes) (int, error) {
	shape := s.Tensor(k.A).Shape
	inner := shape[len(shape)-1]
	if k.TransposeA {
		inner = shape[len(shape)-2]
	}
	return ir.Elements(s.Tensor(k.Y).Shape).Mul(inner).Eval(sizes)
}

package pass

import (
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// attention makes one operation, which keeps no matrix of scores, of a product of
// queries and keys, its softmax, and the product with values. It does so where
//
//   - nothing else reads the scores or the probabilities, and neither is an output,
//   - the softmax is over the keys: probabilities are not transposed on the way to
//     values, or as the second factor they are,
//   - the factor of the scores is above 0, the other product has none, and neither
//     has a bias,
//   - queries, keys and values are activations, and their widths are numbers: at
//     most ir.MaxKeyWidth for keys and ir.MaxValueWidth for values.
//
// Everything else stays three operations.
func attention(s *ir.Stage) error {
	uses := readers(s)
	gone := map[int]bool{}
	for i := range s.Forward {
		softmax, ok := s.Forward[i].Do.(*ir.Softmax)
		if !ok {
			continue
		}
		scores, mixed, k := around(s, uses, i, softmax)
		if k == nil || !served(s, k) {
			continue
		}
		op := s.Forward[i]
		at := strings.LastIndex(op.Name, softmax.Kind())
		scope, number := op.Name[:at], op.Name[at+len(softmax.Kind()):]
		x := s.Tensor(softmax.X).Shape
		k.LogSum = s.AddTensor(ir.Tensor{Name: scope + "log_sum" + number, Shape: x[:len(x)-1], Elem: ir.Master})
		s.Forward[mixed] = ir.Op{Name: scope + k.Kind() + number, Pos: op.Pos, Do: k}
		gone[scores], gone[i] = true, true
	}
	var out []ir.Op
	for i, op := range s.Forward {
		if !gone[i] {
			out = append(out, op)
		}
	}
	s.Forward = out
	return nil
}

// around finds the products before and after the softmax at i, and the attention that
// the three are; nil if they are none.
func around(s *ir.Stage, uses map[ir.Ref][]int, i int, softmax *ir.Softmax) (scores, mixed int, k *ir.Attention) {
	scores = slices.IndexFunc(s.Forward, func(op ir.Op) bool { return slices.Contains(op.Writes(), softmax.X) })
	mixed, one := only(uses, softmax.Y)
	_, alone := only(uses, softmax.X)
	if scores < 0 || !one || !alone {
		return 0, 0, nil
	}
	first, ok := s.Forward[scores].Do.(*ir.MatMul)
	second, also := s.Forward[mixed].Do.(*ir.MatMul)
	if !ok || !also {
		return 0, 0, nil
	}
	for _, op := range []int{scores, i, mixed} {
		if s.Forward[op].Mode != ir.Always {
			return 0, 0, nil
		}
	}
	return scores, mixed, joined(first, second, softmax)
}

// joined is the attention of two products with a softmax between; nil if they are
// none.
func joined(first, second *ir.MatMul, softmax *ir.Softmax) *ir.Attention {
	if first.Bias != 0 || second.Bias != 0 || first.Alpha <= 0 || second.Alpha != 1 {
		return nil
	}
	k := &ir.Attention{Q: first.A, K: first.B, Y: second.Y, Alpha: first.Alpha, TransposeQ: first.TransposeA, TransposeK: !first.TransposeB}
	switch p := softmax.Y; {
	case second.A == p && !second.TransposeA:
		k.V, k.TransposeV = second.B, second.TransposeB
	case second.B == p && second.TransposeB:
		k.V, k.TransposeV, k.TransposeY = second.A, !second.TransposeA, true
	default:
		return nil
	}
	return k
}

// served tells whether back ends have a kernel for the operands.
func served(s *ir.Stage, k *ir.Attention) bool {
	narrow := func(ref ir.Ref, transposed bool, most int) bool {
		t := s.Tensor(ref)
		axis := len(t.Shape) - 1
		if transposed {
			axis--
		}
		width, ok := t.Shape[axis].Constant()
		return ok && width <= most && t.Elem == ir.Activation
	}
	return narrow(k.Q, k.TransposeQ, ir.MaxKeyWidth) && narrow(k.K, k.TransposeK, ir.MaxKeyWidth) && narrow(k.V, k.TransposeV, ir.MaxValueWidth)
}

package rounding

import (
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// A kernel of attention rounds probabilities, and in the backward pass gradients of
// scores, to the precision of the fit between two products. They are stored nowhere,
// so what that changes of the results is added here: the root of the sum of squares of
// the terms of each result.

// positions are matrices of one operand, each count x width.
type positions struct {
	values       []float64
	count, width int
	transposed   bool
}

func readPositions(t device.Tensor, transposed bool) (positions, error) {
	shape := t.Shape()
	p := positions{count: shape[len(shape)-2], width: shape[len(shape)-1], transposed: transposed}
	if transposed {
		p.count, p.width = p.width, p.count
	}
	values, err := read(t)
	p.values = values
	return p, err
}

// place is where element j of position i of matrix n lies.
func (p positions) place(n, i, j int) int {
	if p.transposed {
		return (n*p.width+j)*p.count + i
	}
	return (n*p.count+i)*p.width + j
}

func (p positions) at(n, i, j int) float64 { return p.values[p.place(n, i, j)] }

// dot is the product of position i with position j of other matrices.
func (p positions) dot(n, i int, o positions, j int) float64 {
	sum := 0.0
	for c := range p.width {
		sum += p.at(n, i, c) * o.at(n, j, c)
	}
	return sum
}

// like gives zeros for results in the places of an operand.
func (p positions) like() positions {
	p.values = make([]float64, len(p.values))
	return p
}

// add adds the squares of weight times a position to a position of a result.
func (p positions) add(n, i int, weight float64, o positions, j int) {
	for c := range p.width {
		term := weight * o.at(n, j, c)
		p.values[p.place(n, i, c)] += term * term
	}
}

// roots are the square roots of the values.
func (p positions) roots() []float64 {
	for i, v := range p.values {
		p.values[i] = math.Sqrt(v)
	}
	return p.values
}

// operands are what attention and its gradients read.
type operands struct {
	alpha   float64
	q, k, v positions
	y       positions
	logSum  []float64
}

// probability gives those of query i and key j.
func (o *operands) probability(n, i, j int) float64 {
	return math.Exp(o.alpha*o.q.dot(n, i, o.k, j) - o.logSum[n*o.q.count+i])
}

// each visits all pairs of a query and a key.
func (o *operands) each(visit func(n, i, j int)) {
	for n := range len(o.logSum) / o.q.count {
		for i := range o.q.count {
			for j := range o.k.count {
				visit(n, i, j)
			}
		}
	}
}

func readOperands(k *ir.Attention, tensor func(ir.Ref) device.Tensor) (*operands, error) {
	o := &operands{alpha: k.Alpha}
	var err error
	for _, operand := range []struct {
		to         *positions
		ref        ir.Ref
		transposed bool
	}{{&o.q, k.Q, k.TransposeQ}, {&o.k, k.K, k.TransposeK}, {&o.v, k.V, k.TransposeV}, {&o.y, k.Y, k.TransposeY}} {
		if *operand.to, err = readPositions(tensor(operand.ref), operand.transposed); err != nil {
			return nil, err
		}
	}
	o.logSum, err = read(tensor(k.LogSum))
	return o, err
}

// attentionTerms gives the size of the terms of Y.
func attentionTerms(k *ir.Attention, tensor func(ir.Ref) device.Tensor) (map[ir.Ref][]float64, error) {
	o, err := readOperands(k, tensor)
	if err != nil {
		return nil, err
	}
	y := o.y.like()
	o.each(func(n, i, j int) { y.add(n, i, o.probability(n, i, j), o.v, j) })
	return map[ir.Ref][]float64{k.Y: y.roots()}, nil
}

// attentionGradientTerms gives the size of the terms of each gradient.
func attentionGradientTerms(k *ir.AttentionGradient, tensor func(ir.Ref) device.Tensor) (map[ir.Ref][]float64, error) {
	o, err := readOperands(&ir.Attention{
		Q: k.Q, K: k.K, V: k.V, Y: k.Y, LogSum: k.LogSum, Alpha: k.Alpha,
		TransposeQ: k.TransposeQ, TransposeK: k.TransposeK, TransposeV: k.TransposeV, TransposeY: k.TransposeY,
	}, tensor)
	if err != nil {
		return nil, err
	}
	dY, err := readPositions(tensor(k.DY), k.TransposeY)
	if err != nil {
		return nil, err
	}
	dQ, dK, dV := o.q.like(), o.k.like(), o.v.like()
	o.each(func(n, i, j int) {
		p := o.probability(n, i, j)
		change := p * (dY.dot(n, i, o.v, j) - dY.dot(n, i, o.y, i))
		dQ.add(n, i, k.Alpha*change, o.k, j)
		dK.add(n, j, k.Alpha*change, o.q, i)
		dV.add(n, j, p, dY, i)
	})
	return map[ir.Ref][]float64{k.DQ: dQ.roots(), k.DK: dK.roots(), k.DV: dV.roots()}, nil
}

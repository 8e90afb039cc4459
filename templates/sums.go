package templates

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// mostRows is how many partial results of a channel the finishing kernels take:
// finish_lanes * finish_rows of the device code.
const mostRows = 512

// momentBytes is the size of a partial result of the statistics of a channel.
const momentBytes = 16

// sums is a reduction whose first pass the convolution that makes its input does
// on the way: the statistics of its result, or the two sums of the batch norm
// whose gradient its result is.
type sums struct {
	statistics *ir.BatchStatistics
	reduce     *ir.NormalizeReduce
}

// sumsOf describes a reduction.
func sumsOf(op *ir.Op) *sums {
	s := &sums{}
	switch k := op.Do.(type) {
	case *ir.BatchStatistics:
		s.statistics = k
	case *ir.NormalizeReduce:
		s.reduce = k
	}
	return s
}

// maps are the maps that the convolution reads for the sums.
func (s *sums) maps() []ir.Ref {
	if s.reduce != nil {
		return []ir.Ref{s.reduce.X}
	}
	return nil
}

// aligned tells whether v coefficients can be read at once.
func (s *sums) aligned(b *builder, v int) bool {
	if s.reduce == nil {
		return true
	}
	for _, r := range []ir.Ref{s.reduce.Mean, s.reduce.Rstd, s.reduce.Scale, s.reduce.Shift} {
		if _, ok := b.stage.Tensor(r).Offset.Divide(v, b.stage.Multiple); !ok {
			return false
		}
	}
	return true
}

// launch gives what a convolution of c channels needs to take the sums: the
// template argument, launch arguments, and scratch memory for the partial results.
func (s *sums) launch(b *builder, c int) (argument string, fields []field, scratch Expr) {
	partial := field{"partial", "c->scratch[lane]"}
	if k := s.statistics; k != nil {
		return "statistics_sums", []field{partial, {"batches", b.address(k.Batches)}}, Times(b.rows, Number(momentBytes*c))
	}
	k := s.reduce
	fields = append([]field{partial, {"below", b.mapText(k.X)}}, b.coefficientFields(k.Mean, k.Rstd, k.Scale, k.Shift)...)
	return fmt.Sprintf("gradient_sums<%s, element>", functionArguments(k.Activation, k.Slope)), fields, Times(b.rows, Number(8*c))
}

// taken finds the reductions of a program whose first pass a convolution can do:
// for each such convolution its reduction, by position. Both are on one lane,
// where no launch between them uses the scratch memory that carries the partial
// results, and nothing else writes to the map in between.
func taken(stage *ir.Stage, ops []ir.Op, mode ir.Mode) map[int]int {
	pairs := map[int]int{}
	for i := range ops {
		result, ok := summable(stage, &ops[i])
		if !ok || !in(&ops[i], mode) {
			continue
		}
		for j := i + 1; j < len(ops); j++ {
			if !in(&ops[j], mode) {
				continue
			}
			if reduced(stage, &ops[j]) == result && ops[j].Lane == ops[i].Lane {
				pairs[i] = j
				break
			}
			if ops[j].Lane == ops[i].Lane && usesScratch(&ops[j]) || writes(stage, &ops[j], result) {
				break
			}
		}
	}
	return pairs
}

func in(op *ir.Op, mode ir.Mode) bool { return op.Mode == ir.Always || op.Mode == mode }

// summable gives the result of a convolution whose kernel can sum it.
func summable(stage *ir.Stage, op *ir.Op) (ir.Ref, bool) {
	b := &builder{stage: stage, op: op}
	switch k := op.Do.(type) {
	case *ir.Conv2d:
		_, err := b.layer(k.X, k.Weight, k.Y, k.Kernel, k.Stride, k.Groups)
		return k.Y, err == nil && stage.Tensor(k.X).Elem == ir.Activation
	case *ir.Conv2dInputGradient:
		c, err := b.layer(k.DX, k.Weight, k.DY, k.Kernel, k.Stride, k.Groups)
		return k.DX, err == nil && (c.tiled() && c.stride*c.stride <= mostRows || c.windowed())
	}
	return 0, false
}

// reduced is the map that a reduction sums, 0 for other operations.
func reduced(stage *ir.Stage, op *ir.Op) ir.Ref {
	switch k := op.Do.(type) {
	case *ir.BatchStatistics:
		return k.X
	case *ir.NormalizeReduce:
		if stage.Tensor(k.X).Elem == ir.Activation {
			return k.DY
		}
	}
	return 0
}

// usesScratch tells whether an operation has several launches that share the
// scratch memory of its lane.
func usesScratch(op *ir.Op) bool {
	switch op.Do.(type) {
	case *ir.BatchStatistics, *ir.NormalizeReduce, *ir.Conv2d, *ir.Conv2dInputGradient, *ir.AttentionGradient:
		return true
	}
	return false
}

// writes tells whether an operation writes to the storage of a tensor.
func writes(stage *ir.Stage, op *ir.Op, ref ir.Ref) bool {
	for _, w := range op.Writes() {
		if stage.Tensor(w).Storage == stage.Tensor(ref).Storage {
			return true
		}
	}
	return false
}

package pass

import (
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// fuse replaces every batch norm by its statistics and one Normalize, which
// takes along the activation and the residual addition that follow when
// nothing else reads the values between.
func fuse(s *ir.Stage) error {
	f := fuser{stage: s, readers: readers(s), gone: map[int]bool{}, at: map[int][]ir.Op{}}
	for i := range s.Forward {
		if norm, ok := s.Forward[i].Do.(*ir.BatchNorm); ok {
			f.norm(i, norm)
		}
	}
	var out []ir.Op
	for i, op := range s.Forward {
		out = append(out, f.at[i]...)
		if !f.gone[i] {
			out = append(out, op)
		}
	}
	s.Forward = out
	return nil
}

// readers lists, per tensor, the positions of the operations that read it;
// outputs count as one reader more, at -1.
func readers(s *ir.Stage) map[ir.Ref][]int {
	uses := map[ir.Ref][]int{}
	for i := range s.Forward {
		for _, r := range s.Forward[i].Reads() {
			uses[r] = append(uses[r], i)
		}
	}
	for _, p := range s.Outputs {
		uses[p.Tensor] = append(uses[p.Tensor], -1)
	}
	return uses
}

type fuser struct {
	stage   *ir.Stage
	readers map[ir.Ref][]int
	gone    map[int]bool    // operations that were fused away
	at      map[int][]ir.Op // operations that stand in their place
}

func (f *fuser) norm(at int, norm *ir.BatchNorm) {
	op := f.stage.Forward[at]
	base := strings.TrimSuffix(op.Name, ".batch_norm")
	statistic := func(name string) ir.Ref {
		return f.stage.AddTensor(ir.Tensor{Name: base + name, Shape: f.stage.Tensor(norm.Scale).Shape, Elem: ir.Master})
	}
	mean, rstd := statistic(".mean"), statistic(".rstd")
	f.gone[at] = true
	f.at[at] = append(f.at[at],
		ir.Op{Name: base + ".statistics", Mode: ir.Training, Pos: op.Pos, Do: &ir.BatchStatistics{
			X: norm.X, Mean: mean, Rstd: rstd, RunningMean: norm.RunningMean, RunningVar: norm.RunningVar, Batches: norm.Batches,
			Epsilon: norm.Epsilon, Momentum: norm.Momentum, Cumulative: norm.Cumulative,
		}},
		ir.Op{Name: base + ".running", Mode: ir.Eval, Pos: op.Pos, Do: &ir.RunningStatistics{
			RunningMean: norm.RunningMean, RunningVar: norm.RunningVar, Mean: mean, Rstd: rstd, Epsilon: norm.Epsilon,
		}})
	last, kernel := f.tail(at, &ir.Normalize{X: norm.X, Mean: mean, Rstd: rstd, Scale: norm.Scale, Shift: norm.Shift, Y: norm.Y})
	f.at[last] = append(f.at[last], ir.Op{Name: base + ".normalize", Pos: op.Pos, Do: kernel})
}

// tail takes an activation and then a residual addition into the kernel, as
// far as each is the only reader, and tells where the kernel now belongs.
func (f *fuser) tail(at int, k *ir.Normalize) (int, *ir.Normalize) {
	if i, ok := only(f.readers, k.Y); ok {
		if act, is := f.stage.Forward[i].Do.(*ir.Activate); is {
			f.gone[i] = true
			k.Activation, k.Slope, k.Y, at = act.Activation, act.Slope, act.Y, i
		}
	}
	if i, ok := only(f.readers, k.Y); ok && !f.gone[i] {
		if add, is := f.stage.Forward[i].Do.(*ir.Add); is && add.A != add.B {
			f.gone[i] = true
			k.Residual = add.A
			if add.A == k.Y {
				k.Residual = add.B
			}
			k.Y, at = add.Y, i
		}
	}
	return at, k
}

// only finds the single reader of a tensor.
func only(readers map[ir.Ref][]int, ref ir.Ref) (int, bool) {
	uses := readers[ref]
	if len(uses) != 1 || uses[0] < 0 {
		return 0, false
	}
	return uses[0], true
}

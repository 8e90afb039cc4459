package templates

import (
	"fmt"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// mostReductions is the length of the table in the arguments of
// weight_gradient_reduce.
const mostReductions = 64

// keptBytes is how many bytes of partial sums, at nominal sizes, wait for one
// launch that adds them: few enough that they are still in a second-level cache
// at larger sizes too, and that the last launch of a program is short.
const keptBytes = 4 << 20

// secondPass is the second pass of the gradient of a weight, or of a bias as that of
// one input channel: partial sums [rows][group][tap][Cout][Cin] into a parameter's
// gradient.
type secondPass struct {
	partial, result               string // addresses
	rows                          Expr
	inputs, outputs, taps, groups int // of a group
	lanes                         int // logarithm of how many lanes share the rows
	accumulate                    bool
}

// share chooses the lanes: about four rows for each at nominal sizes.
func (r *secondPass) share(nominal ir.Sizes) error {
	rows, err := r.rows.Eval(nominal)
	for r.lanes = 2; r.lanes < 5 && rows > int64(4)<<r.lanes; r.lanes++ {
	}
	return err
}

func (r *secondPass) total() int { return r.groups * r.taps * r.outputs * r.inputs }

// batch gathers the second passes of the gradients of weights and biases on one
// lane. Their partial sums lie one after the other in memory of the lane until the
// last operation of the batch adds all of them, in one launch.
type batch struct {
	passes []secondPass
	last   int   // kept amount of memory so far, from 1; 0 for none
	bytes  int64 // of the partial sums at nominal sizes
	open   int   // partial sums in memory whose second pass is yet to come
}

// kept is an amount of memory for partial sums: that of another amount, before
// it, and some bytes more.
type kept struct {
	Before int // number of the other amount; 0 for none
	Bytes  string
}

// amounts numbers the distinct amounts of kept memory of a stage, from 1.
type amounts struct {
	list   []kept
	number map[kept]int
}

func newAmounts() *amounts { return &amounts{number: map[kept]int{}} }

func (a *amounts) add(k kept) int {
	if known, found := a.number[k]; found {
		return known
	}
	a.list = append(a.list, k)
	a.number[k] = len(a.list)
	return len(a.list)
}

// keep reserves memory for the partial sums of an operation until its batch ends,
// and gives its address.
func (b *builder) keep(bytes Expr) (address string, err error) {
	nominal, err := bytes.Eval(b.nominal)
	if err != nil {
		return "", err
	}
	address = "kept(c, lane)"
	if b.batch.last > 0 {
		address += fmt.Sprintf(" + kept_%d(n, h, w)", b.batch.last)
	}
	b.batch.last = b.amounts.add(kept{b.batch.last, bytes.C()})
	b.batch.bytes += nominal
	return address, nil
}

// add makes a second pass wait.
func (t *batch) add(r secondPass, nominal ir.Sizes) error {
	if err := r.share(nominal); err != nil {
		return err
	}
	t.passes = append(t.passes, r)
	return nil
}

// full tells whether a batch must end with the operation that came last.
func (t *batch) full() bool { return len(t.passes) == mostReductions || t.bytes >= keptBytes }

// reduceBatch adds the launch that ends the batch, and starts the next.
func (b *builder) reduceBatch() {
	var entries []string
	blocks := 0
	for _, r := range b.batch.passes {
		accumulate := 0
		if r.accumulate {
			accumulate = 1
		}
		entries = append(entries, fmt.Sprintf("{%s, %s, %d, %d, (int32_t)(%s), %d, %d, %d, %d, %d}",
			r.partial, r.result, blocks, r.lanes, r.rows.C(), r.total(), r.inputs, r.outputs, r.taps, accumulate))
		columns := 1024 >> r.lanes
		blocks += (r.total() + columns - 1) / columns
	}
	b.blocks, b.shared = 0, 0
	fields := []field{{"entries", fmt.Sprint(len(entries))}, {"entry", "{" + strings.Join(entries, ", ") + "}"}}
	b.add("weight_gradient_reduce", "weight_gradient_reduce", "reduce", 256, grid1(Number(blocks)), Expr{}, fields)
	b.launches[len(b.launches)-1].Kept = b.batch.last
	b.batch.passes = nil
	if b.batch.open == 0 {
		*b.batch = batch{}
	}
}

// ends finds the gradients after which the batch of their lane must end:
// the last of each lane, and those whose result another operation uses or whose
// memory is used again.
func ends(stage *ir.Stage, ops []ir.Op, mode ir.Mode) map[int]bool {
	end, lanes, used := map[int]bool{}, map[int]bool{}, map[ir.StorageID]bool{}
	for i := len(ops) - 1; i >= 0; i-- {
		if !in(&ops[i], mode) {
			continue
		}
		if result := summed(&ops[i]); result != 0 {
			storage := stage.Tensor(result).Storage
			end[i] = !lanes[ops[i].Lane] || used[storage] || stage.Storage(storage).Space == ir.Arena
			lanes[ops[i].Lane] = true
		}
		ops[i].Do.Operands(func(_ string, ref *ir.Ref, _ ir.Access) {
			if *ref != 0 {
				used[stage.Tensor(*ref).Storage] = true
			}
		})
	}
	return end
}

// summed is the gradient of a parameter that an operation leaves partial sums of;
// 0 for other operations.
func summed(op *ir.Op) ir.Ref {
	switch k := op.Do.(type) {
	case *ir.Conv2dWeightGradient:
		return k.DWeight
	case *ir.ChannelSum:
		return k.DBias
	}
	return 0
}

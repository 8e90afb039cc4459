package stage

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Norm holds the constants of a batch norm. The zero Norm stands for epsilon
// 1e-5 and momentum 0.1 (YOLO26 specification, network section 1).
type Norm struct {
	Epsilon    float64
	Momentum   float64
	Cumulative bool // running statistics are plain averages over all batches; such a stage always runs natively
}

// BatchNorm normalises a map per channel: with the statistics of the batch in
// training, which also move the running statistics, and with the running
// statistics in evaluation. State entries: weight, bias, running_mean,
// running_var, num_batches_tracked.
func (b *Builder) BatchNorm(x Tensor, n Norm) Tensor {
	pos := author()
	if !b.usable(pos, "batch_norm", x) {
		return b.failed()
	}
	if n.Epsilon == 0 {
		n.Epsilon = 1e-5
	}
	if n.Momentum == 0 && !n.Cumulative {
		n.Momentum = 0.1
	}
	switch {
	case x.kind() != mapKind:
		b.core.mistake(pos, "batch_norm", fmt.Sprintf("the input is %s", x.describe()), "a batch norm takes a map (N, C, H, W)")
		return b.failed()
	case !(n.Epsilon > 0) || !(n.Momentum >= 0 && n.Momentum <= 1) || n.Cumulative && n.Momentum != 0:
		b.core.mistake(pos, "batch_norm", fmt.Sprintf("epsilon %g, momentum %g, cumulative %t", n.Epsilon, n.Momentum, n.Cumulative), "use epsilon > 0 and either momentum in (0, 1] or cumulative averaging")
		return b.failed()
	}
	kernel, ok := b.normState(pos, x.Channels(), n)
	if !ok {
		return b.failed()
	}
	if n.Cumulative && b.core.stage.Unrecordable == "" {
		b.core.stage.Unrecordable = fmt.Sprintf("%s averages its statistics over all batches, which needs the batch counter on the host", join(b.scope, "batch_norm"))
	}
	return b.unary(pos, "batch_norm", x, mapKind, x.shape(), func(x, y ir.Ref) ir.Kernel {
		kernel.X, kernel.Y = x, y
		return kernel
	})
}

// normState declares the state entries of a batch norm.
func (b *Builder) normState(pos ir.Pos, channels int, n Norm) (*ir.BatchNorm, bool) {
	kernel := &ir.BatchNorm{Epsilon: n.Epsilon, Momentum: n.Momentum, Cumulative: n.Cumulative}
	shape := []int{channels}
	var ok [5]bool
	kernel.Scale, ok[0] = b.parameter(pos, "batch_norm", "weight", shape, ir.Initialise{Value: 1})
	kernel.Shift, ok[1] = b.parameter(pos, "batch_norm", "bias", shape, ir.Initialise{})
	kernel.RunningMean, ok[2] = b.buffer(pos, "batch_norm", ir.Buffer{Name: "running_mean", Shape: shape, Elem: ir.Master})
	kernel.RunningVar, ok[3] = b.buffer(pos, "batch_norm", ir.Buffer{Name: "running_var", Shape: shape, Elem: ir.Master, Value: 1})
	kernel.Batches, ok[4] = b.buffer(pos, "batch_norm", ir.Buffer{Name: "num_batches_tracked", Shape: []int{}, Elem: ir.Counter})
	return kernel, ok == [5]bool{true, true, true, true, true}
}

// Dropout zeroes elements with the given probability in training and scales
// the others by 1/(1-probability); in evaluation it passes its input on. Its
// generator lives on the device, in the state entry state: seed and number of
// draws.
func (b *Builder) Dropout(x Tensor, probability float64) Tensor {
	pos := author()
	if !b.usable(pos, "dropout", x) {
		return b.failed()
	}
	if !(probability > 0 && probability < 1) {
		b.core.mistake(pos, "dropout", fmt.Sprintf("the probability is %g", probability), "use a number between 0 and 1")
		return b.failed()
	}
	state, ok := b.buffer(pos, "dropout", ir.Buffer{Name: "state", Shape: []int{2}, Elem: ir.Counter, Seeded: true})
	if !ok {
		return b.failed()
	}
	name := b.opName("dropout")
	shape := x.shape()
	y := b.value(name, x.kind(), shape)
	mask := b.value(name+".mask", x.kind(), shape)
	b.record(pos, name, ir.Training, &ir.Dropout{X: x.ref, State: state, Mask: mask, Y: y, Probability: probability})
	b.record(pos, name+".pass", ir.Eval, &ir.Copy{X: x.ref, Y: y})
	return Tensor{core: b.core, ref: y}
}

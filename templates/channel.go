package templates

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

const channelThreads = 256 // of a block of the kernels with one coefficient a channel

// channels flattens maps with the channel as the inner dimension; coefficients
// are contiguous vectors of as many elements.
func (b *builder) channels(axis int, coefficients []ir.Ref, refs ...ir.Ref) (*flat, int, error) {
	c, err := b.constant(refs[0], axis)
	if err != nil {
		return nil, 0, err
	}
	if err := b.vectors(c, coefficients...); err != nil {
		return nil, 0, err
	}
	f, err := b.flatten(axis, false, refs...)
	if err != nil {
		return nil, 0, err
	}
	if len(b.stage.Tensor(refs[0]).Shape) == 4 && axis == 1 {
		f.vector = max(f.vector, b.paddedVector(8, refs...))
	}
	if c%f.vector != 0 { // coefficients are read one by one
		return f, c, nil
	}
	for _, r := range coefficients {
		for r != 0 && f.vector > 1 {
			if _, ok := b.stage.Tensor(r).Offset.Divide(f.vector, b.stage.Multiple); ok {
				break
			}
			f.vector /= 2
		}
	}
	return f, c, nil
}

// reduction is the launch geometry of a sum over all pixels.
type reduction struct {
	lanes, sets int
	blocks      Expr // along x: partial results of a channel
}

// reductionBlocks is how many blocks of a reduction a large GPU holds at once:
// three for each multiprocessor. More would have to wait for them.
const reductionBlocks = 3 * multiprocessors

// reduction gives each thread `least` pixels or more.
func (b *builder) reduction(f *flat, c, least int) reduction {
	lanes := powerOfTwo((c+f.vector-1)/f.vector, 32)
	sets := (c + lanes*f.vector - 1) / (lanes * f.vector)
	blocks := Ceiling(f.rows(), Number(channelThreads/lanes*least))
	return reduction{lanes: lanes, sets: sets, blocks: Smaller(blocks, Number(max(1, min(mostRows, reductionBlocks/sets))))}
}

// channelFields are the arguments of a kernel over channels; tensors by role.
func (b *builder) channelFields(f *flat, x, dy, y ir.Ref, r *reduction, vectors ...field) []field {
	fields := []field{{"x", b.tensorText(f, x)}, {"dy", b.tensorText(f, dy)}, {"y", b.tensorText(f, y)}, {"extent", extentText(f)}}
	fields = append(fields, vectors...)
	if r != nil {
		fields = append(fields, field{"partial", "c->scratch[lane]"},
			field{"span", Ceiling(f.rows(), r.blocks).C()}, field{"rows", "(int32_t)(" + r.blocks.C() + ")"})
	}
	return fields
}

// coefficientFields are mean, rstd, scale and shift.
func (b *builder) coefficientFields(mean, rstd, scale, shift ir.Ref) []field {
	return []field{{"mean", b.address(mean)}, {"rstd", b.address(rstd)}, {"scale", b.address(scale)}, {"shift", b.address(shift)}}
}

// batchStatistics has two launches; the first is left out when the convolution
// that makes X takes the sums.
//
//	kernel                    grid                     block  scratch
//	batch_statistics_partial  splits, channel sets     256    splits * C * 16
//	batch_statistics_finish   C/8                      256
func (b *builder) batchStatistics(k *ir.BatchStatistics) error {
	f, c, err := b.channels(1, []ir.Ref{k.Mean, k.Rstd, k.RunningMean, k.RunningVar}, k.X)
	if err != nil {
		return err
	}
	if err := b.need(ir.Counter, k.Batches); err != nil {
		return err
	}
	x, err := b.typeOf(k.X)
	if err != nil {
		return err
	}
	r := b.reduction(f, c, 8)
	if b.left {
		r.blocks = b.rows
	}
	fields := b.channelFields(f, k.X, 0, 0, &r, field{"mean", b.address(k.Mean)}, field{"rstd", b.address(k.Rstd)},
		field{"running_mean", b.address(k.RunningMean)}, field{"running_variance", b.address(k.RunningVar)}, field{"batches", b.address(k.Batches)})
	if !b.left {
		b.add("statistics", "batch_statistics_partial", "channel", channelThreads, [3]Expr{r.blocks, Number(r.sets), Number(1)}, Times(r.blocks, Number(momentBytes*c)), fields,
			"index_t", f.rank(), c, f.vector, r.lanes, x)
	}
	b.add("statistics", "batch_statistics_finish", "channel", channelThreads, grid1(Number((c+7)/8)), Expr{}, fields,
		Bits(k.Epsilon), Bits(k.Momentum), k.Cumulative)
	return nil
}

// runningStatistics has one thread a channel: grid C/256, block 256.
func (b *builder) runningStatistics(k *ir.RunningStatistics) error {
	c, err := b.constant(k.Mean, 0)
	if err != nil {
		return err
	}
	if err := b.vectors(c, k.RunningMean, k.RunningVar, k.Mean, k.Rstd); err != nil {
		return err
	}
	fields := []field{{"mean", b.address(k.Mean)}, {"rstd", b.address(k.Rstd)}, {"running_mean", b.address(k.RunningMean)}, {"running_variance", b.address(k.RunningVar)}, {"extent", fmt.Sprintf("{1, 1, 1, %d}", c)}}
	b.add("statistics", "running_statistics", "channel", channelThreads, grid1(Number((c+channelThreads-1)/channelThreads)), Expr{}, fields, Bits(k.Epsilon))
	return nil
}

// rowsOf is how many rows a thread of the element-by-element kernels over
// channels takes, at most `most`: as many as leave a block for each
// multiprocessor of a large GPU, or for every second one where it is two, because
// coefficients are read once for all rows.
func (b *builder) rowsOf(f *flat, c, most int) (int, error) {
	rows, err := f.rows().Eval(b.nominal)
	if err != nil {
		return 0, err
	}
	blocks := rows * int64((c+f.vector-1)/f.vector) / channelThreads
	switch {
	case blocks >= 4*multiprocessors:
		return min(4, most), nil
	case blocks >= multiprocessors:
		return min(2, most), nil
	}
	return 1, nil
}

// perChannel is the grid of the element-by-element kernels over channels: a
// thread has so many rows and vector channels, a block whole rows as far as they
// fit.
func perChannel(f *flat, c, rows int) [3]Expr {
	groups := (c + f.vector - 1) / f.vector
	lanes := min(groups, channelThreads)
	return [3]Expr{Ceiling(f.rows(), Number(channelThreads/lanes*rows)), Number((groups + lanes - 1) / lanes), Number(1)}
}

// normalize: grid row tiles, channel sets; block 256.
func (b *builder) normalize(k *ir.Normalize) error {
	refs := []ir.Ref{k.X, k.Y}
	residual := k.X
	if k.Residual != 0 {
		refs, residual = append(refs, k.Residual), k.Residual
	}
	f, c, err := b.channels(1, []ir.Ref{k.Mean, k.Rstd, k.Scale, k.Shift}, refs...)
	if err != nil {
		return err
	}
	types, err := b.types(k.X, residual, k.Y)
	if err != nil {
		return err
	}
	rows, err := b.rowsOf(f, c, 4)
	if err != nil {
		return err
	}
	fields := b.channelFields(f, k.X, k.Residual, k.Y, nil, b.coefficientFields(k.Mean, k.Rstd, k.Scale, k.Shift)...)
	b.add("normalize", "normalize", "channel", channelThreads, perChannel(f, c, rows), Expr{}, fields,
		functionArguments(k.Activation, k.Slope), k.Residual != 0, "index_t", f.rank(), c, f.vector, rows, types[0], types[1], types[2])
	return nil
}

// normalizeReduce has two launches; the first is left out when the convolution
// that makes DY takes the sums.
//
//	kernel                    grid                     block  scratch
//	normalize_reduce_partial  splits, channel sets     256    splits * C * 8
//	normalize_reduce_finish   C/8                      256
func (b *builder) normalizeReduce(k *ir.NormalizeReduce) error {
	f, c, err := b.channels(1, []ir.Ref{k.Mean, k.Rstd, k.Scale, k.Shift, k.DScale, k.DShift}, k.DY, k.X)
	if err != nil {
		return err
	}
	types, err := b.types(k.DY, k.X)
	if err != nil {
		return err
	}
	r := b.reduction(f, c, 2)
	if b.left {
		r.blocks = b.rows
	}
	fields := b.channelFields(f, k.X, k.DY, 0, &r, append(b.coefficientFields(k.Mean, k.Rstd, k.Scale, k.Shift),
		field{"dscale", b.address(k.DScale)}, field{"dshift", b.address(k.DShift)})...)
	if !b.left {
		b.add("statistics", "normalize_reduce_partial", "channel", channelThreads, [3]Expr{r.blocks, Number(r.sets), Number(1)}, Times(r.blocks, Number(8*c)), fields,
			functionArguments(k.Activation, k.Slope), "index_t", f.rank(), c, f.vector, r.lanes, types[0], types[1])
	}
	b.add("statistics", "normalize_reduce_finish", "channel", channelThreads, grid1(Number((c+7)/8)), Expr{}, fields)
	return nil
}

// normalizeGradient: grid row tiles, channel sets; block 256.
func (b *builder) normalizeGradient(k *ir.NormalizeGradient) error {
	f, c, err := b.channels(1, []ir.Ref{k.Mean, k.Rstd, k.Scale, k.Shift, k.DScale, k.DShift}, k.DY, k.X, k.DX)
	if err != nil {
		return err
	}
	types, err := b.types(k.DY, k.X, k.DX)
	if err != nil {
		return err
	}
	rows, err := b.rowsOf(f, c, 2) // four would take the registers of other blocks
	if err != nil {
		return err
	}
	fields := b.channelFields(f, k.X, k.DY, k.DX, nil, append(b.coefficientFields(k.Mean, k.Rstd, k.Scale, k.Shift),
		field{"dscale", b.address(k.DScale)}, field{"dshift", b.address(k.DShift)})...)
	b.add("normalize", "normalize_gradient", "channel", channelThreads, perChannel(f, c, rows), Expr{}, fields,
		functionArguments(k.Activation, k.Slope), k.Accumulate, "index_t", f.rank(), c, f.vector, rows, types[0], types[1], types[2])
	return nil
}

// channelSum has one launch that leaves partial sums, which those of weight
// gradients wait with (see batch); the channel is dimension 1 of maps and the last
// of everything else.
//
//	kernel               grid                     block  kept
//	channel_sum_partial  splits, channel sets     256    splits * C * 4
func (b *builder) channelSum(k *ir.ChannelSum) error {
	rank := len(b.stage.Tensor(k.DY).Shape)
	if rank == 0 {
		return fmt.Errorf("%s has no dimension", b.stage.Tensor(k.DY).Name)
	}
	axis := rank - 1
	if rank == 4 {
		axis = 1
	}
	f, c, err := b.channels(axis, []ir.Ref{k.DBias}, k.DY)
	if err != nil {
		return err
	}
	dy, err := b.typeOf(k.DY)
	if err != nil {
		return err
	}
	r := b.reduction(f, c, 2)
	partial, err := b.keep(Times(r.blocks, Number(4*c)))
	if err != nil {
		return err
	}
	fields := b.channelFields(f, 0, k.DY, 0, nil, field{"partial", partial}, field{"span", Ceiling(f.rows(), r.blocks).C()})
	b.add("reduce", "channel_sum_partial", "channel", channelThreads, [3]Expr{r.blocks, Number(r.sets), Number(1)}, Expr{}, fields,
		"index_t", f.rank(), c, f.vector, r.lanes, dy)
	return b.batch.add(secondPass{partial: partial, result: b.address(k.DBias), rows: r.blocks, inputs: 1, outputs: c, taps: 1, groups: 1, accumulate: k.Accumulate}, b.nominal)
}

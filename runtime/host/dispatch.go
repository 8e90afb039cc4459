package host

import "github.com/reprise-ml/reprise/gen/ir"

// kernel prepares the launch of a kernel of any kind that a finished plan may
// hold.
func (b *binder[T]) kernel(k ir.Kernel) launch {
	switch k := k.(type) {
	case *ir.Conv2d:
		return b.conv2d(k)
	case *ir.BatchStatistics:
		return b.batchStatistics(k)
	case *ir.RunningStatistics:
		return b.runningStatistics(k)
	case *ir.Normalize:
		return b.normalize(k)
	case *ir.Activate:
		return b.activate(k)
	case *ir.Add:
		return b.add(k)
	case *ir.Multiply:
		return b.multiply(k)
	case *ir.Scale:
		return b.scale(k)
	case *ir.LinearCombination:
		return b.linearCombination(k)
	case *ir.Copy:
		return b.copy(k)
	case *ir.Fill:
		return b.fill(k)
	case *ir.MaxPool:
		return b.maxPool(k)
	case *ir.AveragePool:
		return b.averagePool(k)
	case *ir.Upsample:
		return b.upsample(k)
	case *ir.MatMul:
		return b.matMul(k)
	case *ir.NormalizeMatrices:
		return b.normalizeMatrices(k)
	case *ir.Softmax:
		return b.softmax(k)
	case *ir.Attention:
		return b.attention(k)
	case *ir.Dropout:
		return b.dropout(k)
	}
	return b.gradientKernel(k)
}

// gradientKernel is kernel for the kinds of backward programs.
func (b *binder[T]) gradientKernel(k ir.Kernel) launch {
	switch k := k.(type) {
	case *ir.Conv2dInputGradient:
		return b.conv2dInputGradient(k)
	case *ir.Conv2dWeightGradient:
		return b.conv2dWeightGradient(k)
	case *ir.ChannelSum:
		return b.channelSum(k)
	case *ir.NormalizeReduce:
		return b.normalizeReduce(k)
	case *ir.NormalizeGradient:
		return b.normalizeGradient(k)
	case *ir.ActivateGradient:
		return b.activateGradient(k)
	case *ir.MaxPoolGradient:
		return b.maxPoolGradient(k)
	case *ir.AveragePoolGradient:
		return b.averagePoolGradient(k)
	case *ir.UpsampleGradient:
		return b.upsampleGradient(k)
	case *ir.SoftmaxGradient:
		return b.softmaxGradient(k)
	case *ir.AttentionGradient:
		return b.attentionGradient(k)
	}
	b.fail("no back end runs this kind of operation; generate the package again")
	return nil
}

// runnable tells whether k may be left in a finished plan.
func runnable(k ir.Kernel) bool {
	switch k.(type) {
	case *ir.BatchNorm, *ir.Slice, *ir.Reshape, *ir.Concat:
		return false
	}
	return true
}

package trainer

import "github.com/reprise-ml/reprise/runtime/replay"

// Observe registers a function that sees the outputs of every stage after each
// forward pass; remove takes it away again. While it is there all stages run
// natively (guard G8). To see one stage, or a value inside it, observe what
// Stages gives.
func (f *Fit[T]) Observe(see func(stage *replay.Stage, output *replay.Tensor)) (remove func()) {
	return f.replay.Observe(see)
}

package device

import "github.com/reprise-ml/reprise/gen/ir"

// Observable is a binding that can run a program launch by launch and show
// what each launch wrote, before a later launch reuses the memory. It is how
// observers inside a stage see what they would see natively.
type Observable interface {
	// RunObserved issues the launches of a program like Run and calls after
	// when the results of a launch can be read; gradients of parameters may be
	// complete at the end of the run only. tensor gives any tensor of the plan;
	// it is valid until after returns. An error of after ends the run and is
	// returned.
	RunObserved(p Program, after func(op *ir.Op, tensor func(ir.Ref) Tensor) error) error
}

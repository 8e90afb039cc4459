// Package device holds what every back end shares: element types, tensors,
// plans bound to a signature, and the interfaces that a back end implements.
package device

// Float is the set of element types in which the host back end computes:
// float32 for training, float64 for checks.
type Float interface {
	float32 | float64
}

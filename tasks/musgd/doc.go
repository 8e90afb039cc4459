// Package musgd defines the MuSGD optimizer as a stage: momentum,
// orthogonalisation and the preparation of the update for every parameter of a
// network (YOLO26 specification, training section 4), so that a fit can record
// the whole of it once and replay it with one launch.
//
// The stage is a function without state: it takes gradients, momentum and
// weights and gives the new momentum and the update to subtract. Its caller
// keeps the results of those tensors that have a gradient and drops the others,
// which is what makes an absent gradient leave no trace. Everything that varies
// between steps is a Scalar, in device memory.
package musgd

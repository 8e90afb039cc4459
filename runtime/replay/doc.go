// Package replay decides, call by call, whether a stage of a network runs its
// launches one by one (natively) or replays a recording of them, and keeps both
// ways indistinguishable but for speed.
//
// A Fit is one training run on one device. It owns Stages, each a generated
// plan loaded on that device. A training step is
//
//	outputs, err := stage.Forward(inputs)  // replayed, or native with a counted reason
//	err = stage.Backward(cotangents)       // an absent cotangent stays absent
//	gradient, presence := stage.Gradient(i)
//
// The first full training batch decides the signature of the fit. Before that
// step runs, its forward program and all backward programs are recorded, which
// executes nothing, so that already this step is a replay. A step that a guard
// holds back runs natively, whole, and its reason is counted (see Guards).
//
// All calls of one fit come from one goroutine.
package replay

// GeneratedFormat1 marks a runtime that generated packages of format 1 work
// with. Each generated file refers to it, so that a package generated for
// another runtime fails to compile with the name of what is missing.
const GeneratedFormat1 = 1

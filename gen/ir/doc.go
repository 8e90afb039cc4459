// Package ir holds the plain data that the generator works on and that the
// runtime executes: stages made of operations on tensors with symbolic sizes,
// and the plan decided for them (views, storages, places in the arena, lanes).
//
// The builder in gen/stage produces a Stage whose operations are what the
// author wrote; every pass in gen/pass takes a Stage and returns it one step
// closer to a plan. The same struct, serialised, is what a generated package
// embeds and what both back ends run, so nothing is described twice. The
// package imports only the standard library and has no behaviour beyond
// arithmetic on sizes, reading and writing.
package ir

// Package cuda is the back end for NVIDIA GPUs: it runs the kernels of generated
// packages, records their programs as CUDA graphs and replays them.
//
// It is built with the tag cuda, which needs cgo, the headers of the CUDA driver
// (11.8 to 13) and libcuda. Without the tag the package is empty and needs
// nothing.
//
// # Threads
//
// A device owns one operating system thread, which makes every driver call, with
// the device's context current. Calls of other threads wait for it. Nothing is
// released by the garbage collector: memory, streams, events and recordings are
// released by Close alone, in the order recordings, bindings, stages, device, and
// after the work that uses them. While any device of the process records, no
// thread of any other device calls the driver.
//
// # Memory
//
// A stage has one allocation for parameters, gradients and buffers, a binding one
// for its inputs, outputs, cotangents, arena and scratch, with every storage on a
// 256-byte boundary. Both are made before the first launch; running, recording
// and replaying allocate nothing.
//
// # Order
//
// All work of a device is enqueued on one stream. Independent launches of a
// program run on side streams that leave it at the start of the program and join
// it at the end, natively and inside a recording alike.
//
// # Kernels
//
// The kernels of a generated package are compiled apart, by reprise image, into a
// file beside the package's source that is embedded when it exists. It carries
// the digest of the source it was made from; an image of another source is
// refused.
package cuda

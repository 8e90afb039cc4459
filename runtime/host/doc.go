// Package host is the back end in pure Go: it runs the same plans as the CUDA
// back end, records and replays them, and needs nothing but a processor.
//
// # Determinism
//
// Every kernel cuts its work into tasks by the shapes alone. A task writes
// memory of its own, and partial results are added in task order, so results
// do not depend on the number of cores. Running a program and replaying its
// recording call the same kernels on the same memory, so both give equal bits.
//
// # Random numbers
//
// Dropout uses the counter-based form of SplitMix64. Its state is two
// counters: the seed s and the number of draws d taken so far. Element i of
// the tensor, counted in row-major order of the logical shape, takes draw d+i:
//
//	z = s + (d+i+1) * 0x9E3779B97F4A7C15            (64-bit, wrapping)
//	z = (z XOR z>>30) * 0xBF58476D1CE4E5B9
//	z = (z XOR z>>27) * 0x94D049BB133111EB
//	z = z XOR z>>31
//
// The element is zeroed when z>>11 < ceil(Probability * 2^53), an exact
// integer comparison, and scaled by 1/(1-Probability) otherwise. The launch
// then adds the number of elements to d. Every back end draws these numbers.
package host

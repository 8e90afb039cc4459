// Package image compiles the kernels of generated packages into kernel images,
// which lie beside the source and are embedded by builds with the tag cuda.
//
// The source of a stage is cut into units of a few kernels. Each is compiled by
// itself, once for each precision, several at a time: to PTX, from which the code of
// each target is assembled. The results are kept
// under the digest of everything that they depend on: the text, the compiler and
// its flags. A change of one layer therefore compiles only the units that hold
// its kernels.
package image

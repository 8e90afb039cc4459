// Package device holds the C++ headers that stand in for CUDA when generated
// kernels are compiled for the simulator.
package device

import "embed"

// Headers are the files that a kernel image is compiled with.
//
//go:embed *.h
var Headers embed.FS

// Package compat holds a cuda.h that makes the CUDA 13 headers usable to the
// back end. It has no Go code: builds with the tag cuda name its folder in
// CGO_CFLAGS before the folder of the toolkit's headers.
package compat

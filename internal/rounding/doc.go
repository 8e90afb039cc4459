// Package rounding measures how far rounding moves what a training step leaves.
//
// A step of a deep network amplifies rounding: batch norms divide by small
// standard deviations, and sums over a batch cancel. By how much differs from
// tensor to tensor and from size to size by orders of magnitude, so no formula
// over depth and unit roundoff bounds it. It can be measured, as Monte Carlo
// arithmetic does: the step runs several times on the host, and every value that
// a launch stores is moved by a random error as large as its rounding may be. What
// a tensor deviates from a step in float64 then is a sample of what it deviates on
// a device that rounds in the same places, whose kernels have no part in
// it (Monte Carlo arithmetic: exploiting randomness in floating-point arithmetic,
// UCLA, 1997).
package rounding

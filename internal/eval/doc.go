// Package eval computes the validation figures of a fit: it decodes the
// one-to-one branch of every batch and judges it in letterboxed pixels (YOLO26
// specification, data and evaluation section 9.5). The figures are proxies for
// comparing epochs. Published figures need the original images, for which
// packages decode, precision and tiles have the parts.
package eval

// Package geometry holds the plane geometry that labels, objectives, decoding
// and evaluation share: points, axis-aligned boxes, rotated boxes in canonical
// long-edge form, the quadrilateral fit, half-plane clipping and the exact
// rotated intersection over union.
//
// Everything is float64 and in pixels of one canvas. The x axis points right
// and the y axis down, so a positive angle turns clockwise on screen. Nothing
// here returns an error or panics: a number that is not finite travels through,
// and RotatedIoU is 0 for it.
package geometry

// Package decode turns the raw outputs of a head branch into detections: the
// best anchors of the one-to-one branch, suppression of the one-to-many branch,
// oriented boxes, keypoints and instance masks, and the way back from the
// letterboxed canvas to the original image (YOLO26 specification, data and
// evaluation section 8).
//
// Outputs are flat row-major slices of float32 or float64; everything computed
// from them is float64. Letters in the documentation: B images, A anchors per
// image, C classes, K mask coefficients, P keypoints.
//
// The specification pads every image to one number of rows. Here an image has
// as many rows as were selected and no padding.
package decode

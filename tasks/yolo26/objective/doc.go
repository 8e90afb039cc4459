// Package objective holds what the native objectives of the four YOLO26 tasks
// share: the anchor grid, the decoders of the raw outputs, padded ground truth,
// the task-aligned assigner of both head branches, the elementary loss terms
// with their derivatives, and the branch-weight ramp. It follows the YOLO26
// specification, objective sections 0 to 3.1; papers are named where a formula
// is theirs.
//
// Letters in the documentation: B images in the batch, A anchors per image, C
// classes, N padded objects per image, W the normaliser max(sum of quality, 1)
// of one branch, P its number of positives. Boxes are in pixels of the network
// input, x right and y down; angles are in radians from +x towards +y.
//
// Network outputs and their cotangents are flat row-major slices of float32 or
// float64. All arithmetic in between is float64. Sums run in one fixed order,
// images first and anchors ascending, whatever the number of processors, so two
// calls on equal inputs return equal bits.
//
// No derivative passes through assignment, quality, W, or the trade-off factor
// of the complete IoU. Subgradients follow one convention: a lower clamp passes
// the derivative where the value is at or above its bound, minimum and maximum
// give half to each side on a tie, and |x| has derivative 0 at 0.
package objective

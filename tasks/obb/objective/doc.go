// Package objective is the native objective of the oriented-box task: label
// assignment, the oriented losses of both head branches, their total, and the
// cotangents of the raw outputs with their presence (YOLO26 specification,
// objective sections 2.6, 3 and 4).
//
// The parts come from the objective package that all YOLO26 tasks share. The
// classification loss and the three oriented terms are fields of Objective that
// a user may replace; Replaced tells whether that was done, because a recording
// of the network is only right for the gradient presence of the default ones.
package objective

// Package objective is the native objective of the axis-aligned detection task:
// label assignment, the detection losses of both head branches, their total,
// and the cotangents of the raw outputs (YOLO26 specification, objective
// sections 1 to 3). No cotangent of this task is ever absent.
//
// The classification loss and the box loss are fields of Objective that a user
// may replace; Replaced tells whether that was done.
package objective

// Package objective is the native objective of the instance segmentation task:
// label assignment, the detection losses, the mask losses of both head branches
// and the auxiliary semantic loss, their total, and the cotangents of the raw
// outputs with their presence (YOLO26 specification, objective sections 2.7,
// 2.8, 3 and 4).
//
// The losses are fields of Objective that a user may replace; Replaced tells
// whether that was done.
package objective

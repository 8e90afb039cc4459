// Package objective is the native objective of the keypoint task: label
// assignment, the detection losses, the keypoint likelihood and the keypoint
// similarity of both head branches, their total, and the cotangents of the raw
// outputs with their presence (YOLO26 specification, objective sections 2.9,
// 2.10, 3 and 4).
//
// The likelihood is by default that of residual log-likelihood estimation
// (arXiv:2107.11291): its density is learnt by a flow, whose parameters both
// branches share, train with the network and have no use after it.
//
// The losses and both keypoint terms are fields of Objective that a user may
// replace; Replaced tells whether that was done.
package objective

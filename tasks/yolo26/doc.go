// Package yolo26 holds the parts that all networks of the YOLO26 family share,
// as functions over a stage.Builder: the compound scales, the blocks, the
// backbone, the neck, the two-branch head and the prototype branch.
//
// Names of state entries, the order in which parameters are declared and every
// wiring decision follow the YOLO26 specification (network sections 1 to 9);
// the family is described in arXiv:2606.03748.
//
// A function that builds a unit takes a Builder that is scoped to the unit's
// prefix. It returns the result of a mistake when it is given one, so that a
// mistake in a definition is reported once.
package yolo26

// Package inspect counts and shows what a stage consists of: layers with shapes,
// parameters and multiply-accumulates, the deployed part of a network, launches
// and arena bytes of its plan, and a drawing.
//
// Counts follow the YOLO26 specification (network section 10), so that they can
// be compared with its tables.
package inspect

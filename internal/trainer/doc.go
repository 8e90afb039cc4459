// Package trainer runs a fit: batches from the loader, the network's stages
// native or replayed, the native objective, clipping, optimizer, moving
// average, validation and checkpoints, in the order of the YOLO26
// specification, training section 2.
//
// Data flows one way in a step: batch, forward, objective, backward, update.
// Nothing here knows how a stage runs; recording changes no byte of a fit.
package trainer

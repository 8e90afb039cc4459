// Package data reads labelled image folders and turns them into batches: the
// data.yaml reader, YOLO text labels, the per-image target record, the letterbox
// and the augmentation steps, and a loader whose batches depend on the seed,
// the epoch and the position alone, never on the number of workers.
//
// Coordinates are float64 pixels of the current canvas. Images are RGB with
// interleaved channels (height, width, 3) as float32 in [0,1] until they are
// quantised to 8 bits for transport.
package data

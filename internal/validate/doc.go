// Package validate judges the network of a checkpoint on a labelled split: the
// figures of COCO or of oriented boxes in pixels of the original images, for both
// decode paths, with precision-recall curves and confusion (YOLO26
// specification, data and evaluation section 9).
package validate

// Package precision judges detections against ground truth: COCO average
// precision and recall of boxes, masks and keypoints (arXiv:1405.0312), oriented
// mAP (DOTA, arXiv:1711.10398), precision-recall curves and confusion counts
// (YOLO26 specification, data and evaluation section 9).
//
// Evaluators take images one after the other and keep only what the figures
// need. Equal scores rank in the order in which they came, so equal inputs give
// equal bits. A figure without any ground truth is -1.
package precision

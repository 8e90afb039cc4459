// Package predict runs the network of a checkpoint on images and gives what it
// found in pixels of the image: boxes, rotated boxes, masks and keypoints.
package predict

package data

import "fmt"

// Augmentation are the settings of the training pipeline.
type Augmentation struct {
	// Size is the side of the square input in pixels.
	Size int
	// Mosaic, Mixup, CopyPaste and Flip are probabilities.
	Mosaic, Mixup, CopyPaste, Flip float64
	// CloseEpoch is the first epoch without mosaics.
	CloseEpoch int
	Affine     Affine
	HSV        HSVStep
	// KeypointOrder exchanges left and right keypoints in mirrored images, see
	// FlipStep.
	KeypointOrder []int
}

// Strength is the part of the YOLO26 recipe that grows with the network (YOLO26
// paper, table S3).
type Strength struct {
	// Scale is the half-range of the affine scale.
	Scale float64
	// Mixup and CopyPaste are probabilities.
	Mixup, CopyPaste float64
}

// StrengthOf is the strength for a network scale: n, s, m, l, x, or the test
// scale t, which takes that of n.
func StrengthOf(scale string) (Strength, error) {
	strength, ok := map[string]Strength{
		"t": {0.5, 0, 0.1},
		"n": {0.5, 0, 0.1},
		"s": {0.9, 0.05, 0.15},
		"m": {0.9, 0.1, 0.4},
		"l": {0.9, 0.1, 0.5},
		"x": {0.9, 0.2, 0.6},
	}[scale]
	if !ok {
		return Strength{}, fmt.Errorf("no augmentation strength for scale %q; use t, n, s, m, l or x", scale)
	}
	return strength, nil
}

// TrainingPipeline is the geometric base and the steps of the YOLO26 recipe in
// the order of the data and evaluation specification, section 6.1.
func TrainingPipeline(a Augmentation) Pipeline {
	base := GeometricBase{Size: a.Size, Mosaic: a.Mosaic, CloseEpoch: a.CloseEpoch, Affine: a.Affine}
	return Pipeline{Base: base, Steps: []Step{
		MixupStep{Probability: a.Mixup, Base: base},
		CopyPasteStep{Probability: a.CopyPaste, Base: base},
		a.HSV,
		FlipStep{Probability: a.Flip, KeypointOrder: a.KeypointOrder},
	}}
}

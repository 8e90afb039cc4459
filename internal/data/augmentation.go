package data

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

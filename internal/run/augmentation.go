package run

import (
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
)

// trainingPipeline is the augmentation that the settings ask for. Mirrored images
// exchange the keypoints that the data set pairs.
func trainingPipeline(s *config.Settings, described *data.Config) data.Pipeline {
	return data.TrainingPipeline(data.Augmentation{
		Size:       s.Data.ImgSize,
		Mosaic:     s.Data.Mosaic,
		CloseEpoch: s.Trainer.MaxEpochs - s.Data.CloseMosaic,
		Affine: data.Affine{
			Degrees: s.Data.Degrees, Shear: s.Data.Shear, Scale: s.Data.AffineScale, Translate: s.Data.Translate,
		},
		Mixup:         s.Data.Mixup,
		CopyPaste:     s.Data.CopyPaste,
		HSV:           data.HSVStep{Hue: s.Data.Hue, Saturation: s.Data.Saturation, Value: s.Data.Value},
		Flip:          s.Data.Flip,
		KeypointOrder: described.Schema.FlipOrder,
	})
}

package run

import (
	"context"
	"fmt"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// openData reads both splits of a data file and makes their loaders.
func openData(ctx context.Context, s *config.Settings, described *data.Config) (trainer.Data, error) {
	format, err := described.Rows(s.Task)
	if err != nil {
		return trainer.Data{}, err
	}
	if s.Task == "pose" && described.Keypoints.Count != s.Model.Keypoints {
		return trainer.Data{}, fmt.Errorf("%s declares %d keypoints, model.keypoints is %d; set --model.keypoints=%d",
			described.File, described.Keypoints.Count, s.Model.Keypoints, described.Keypoints.Count)
	}
	if len(described.Names) != s.Model.Classes {
		return trainer.Data{}, fmt.Errorf("%s names %d classes, model.classes is %d; set --model.classes=%d, or generate a network for them with reprise new -classes %d", described.File, len(described.Names), s.Model.Classes, len(described.Names), len(described.Names))
	}
	train, err := data.Open(ctx, described, "train", data.Options{Format: format, CacheDir: s.Data.Cache})
	if err != nil {
		return trainer.Data{}, err
	}
	options := data.LoaderOptions{
		BatchSize: s.Data.BatchSize, Width: s.Data.ImgSize, Height: s.Data.ImgSize,
		Workers: max(s.Data.Workers, 1), Seed: s.Data.Seed, Shuffle: true,
		Masks: s.Task == "segment", DeviceColors: s.Device == "cuda",
	}
	var out trainer.Data
	if out.Train, err = data.NewLoader(train, trainingPipeline(s, described), options); err != nil {
		return trainer.Data{}, err
	}
	if !described.Has("val") {
		return out, nil
	}
	validation, err := data.Open(ctx, described, "val", data.Options{Format: format, CacheDir: s.Data.Cache})
	if err != nil {
		return trainer.Data{}, err
	}
	options.Shuffle = false
	out.Validation, err = data.NewLoader(validation, data.ValidationPipeline(s.Data.ImgSize), options)
	return out, err
}

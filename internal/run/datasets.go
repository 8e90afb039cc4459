package run

import (
	"context"
	"errors"
	"fmt"
	"io"

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
	reading := data.Options{Format: format, CacheDir: s.Data.Cache, SkipFaulty: s.Data.SkipFaulty}
	train, err := openSplit(ctx, described, "train", reading)
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
	validation, err := openSplit(ctx, described, "val", reading)
	if err != nil {
		return trainer.Data{}, err
	}
	options.Shuffle = false
	out.Validation, err = data.NewLoader(validation, data.ValidationPipeline(s.Data.ImgSize), options)
	return out, err
}

// openSplit opens a split, and says of faults that a fit could do without their
// images where it could.
func openSplit(ctx context.Context, described *data.Config, split string, reading data.Options) (*data.Dataset, error) {
	dataset, err := data.Open(ctx, described, split, reading)
	if faults := (*data.FaultsError)(nil); errors.As(err, &faults) && faults.Skippable {
		return nil, fmt.Errorf("%w\ncorrect what is listed, or leave these images out with --data.skip_faulty=true", err)
	}
	return dataset, err
}

// showFaults tells what the splits leave out: faulty images, each with its file and
// line, and repeated label rows.
func showFaults(w io.Writer, d trainer.Data) error {
	if w == nil {
		return nil
	}
	for _, split := range []string{"train", "val"} {
		set := datasets(d)[split]
		if set == nil {
			continue
		}
		if set.Duplicates > 0 {
			if _, err := fmt.Fprintf(w, "%s: %d repeated label rows dropped\n", split, set.Duplicates); err != nil {
				return err
			}
		}
		if len(set.Skipped) > 0 {
			if _, err := fmt.Fprintf(w, "%s: images with faults are left out, %d images are left\n%v\n", split, set.Len(), &data.FaultsError{Faults: set.Skipped}); err != nil {
				return err
			}
		}
	}
	return nil
}

package run

import (
	"errors"
	"fmt"
	"io"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// datasets are the data sets behind the loaders by split.
func datasets(d trainer.Data) map[string]*data.Dataset {
	found := map[string]*data.Dataset{"train": d.Train.Dataset()}
	if d.Validation != nil {
		found["val"] = d.Validation.Dataset()
	}
	return found
}

// showCaches tells the size of the image caches and what had to be decoded.
func showCaches(w io.Writer, d trainer.Data) error {
	if w == nil {
		return nil
	}
	for _, split := range []string{"train", "val"} {
		set := datasets(d)[split]
		if set == nil || set.Cache().Bytes == 0 {
			continue
		}
		state := set.Cache()
		if _, err := fmt.Fprintf(w, "cache of %s: %.1f MB, %d of %d images decoded anew\n", split, float64(state.Bytes)/1e6, state.Decoded, set.Len()); err != nil {
			return err
		}
	}
	return nil
}

// closeCaches releases the image caches.
func closeCaches(d trainer.Data) error {
	var errs []error
	for _, set := range datasets(d) {
		errs = append(errs, set.Close())
	}
	return errors.Join(errs...)
}

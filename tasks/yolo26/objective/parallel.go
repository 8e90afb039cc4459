package objective

import (
	"runtime"

	"golang.org/x/sync/errgroup"
)

// eachImage calls work once per image from up to GOMAXPROCS goroutines and
// returns when all are done. The work on one image must not touch what belongs
// to another; whatever is summed over images is summed by the caller, in order.
func eachImage(images int, work func(image int)) {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for image := range images {
		group.Go(func() error {
			work(image)
			return nil
		})
	}
	// No work returns an error, so waiting has none to report.
	_ = group.Wait()
}

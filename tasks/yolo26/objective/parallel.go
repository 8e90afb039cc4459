package objective

import (
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Each calls work once for every index below count, such as the images of a
// batch, from up to GOMAXPROCS goroutines and returns when all are done. The
// work on one index must not touch what belongs to another; whatever is summed
// over them is summed by the caller, in order.
func Each(count int, work func(index int)) {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for index := range count {
		group.Go(func() error {
			work(index)
			return nil
		})
	}
	// No work returns an error, so waiting has none to report.
	_ = group.Wait()
}

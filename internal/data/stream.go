package data

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
)

// Stream yields the batches from a position up to the end of epoch endEpoch-1,
// in order. Workers read ahead, across the ends of epochs. The batches depend on
// the data set, the pipeline, the seed and the position alone, so a stream that
// starts in the middle yields what a longer one would have.
//
// An error ends the stream; so does a cancelled context, whose error is yielded
// in place of the next batch.
// When the loop over the stream ends, for whatever reason, all its goroutines
// have ended. Each batch is the caller's to keep.
func (l *Loader) Stream(ctx context.Context, from Position, endEpoch int) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		if from.Epoch < 0 || from.Batch < 0 || from.Batch >= l.Batches() {
			yield(nil, fmt.Errorf("loader: no batch %d in epoch %d; an epoch has batches 0 to %d", from.Batch, from.Epoch, l.Batches()-1))
			return
		}
		work, stop := context.WithCancel(ctx)
		ahead := l.startWorkers(work, from, endEpoch)
		defer ahead.group.Wait()
		defer stop()
		for pending := range ahead.ordered {
			select {
			case <-pending.done:
			case <-ctx.Done():
			}
			// A batch that is ready must not hide a cancellation, or the place
			// where the loop ends would be a matter of timing.
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if err := pending.failure(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(pending.batch, nil) {
				return
			}
		}
		if !ahead.complete {
			yield(nil, ctx.Err())
		}
	}
}

// pendingBatch is a batch that workers are filling.
type pendingBatch struct {
	batch     *Batch
	errors    []error
	remaining atomic.Int64
	done      chan struct{}
}

// failure is the error of the first image that has one, which does not depend
// on which worker failed first.
func (p *pendingBatch) failure() error {
	for _, err := range p.errors {
		if err != nil {
			return err
		}
	}
	return nil
}

// imageJob is one image of a pending batch.
type imageJob struct {
	pending     *pendingBatch
	slot, index int
}

// readAhead is the running part of a stream.
type readAhead struct {
	group   sync.WaitGroup
	jobs    chan imageJob
	ordered chan *pendingBatch
	// complete is set, before ordered is closed, when every batch was scheduled.
	complete bool
}

func (l *Loader) startWorkers(ctx context.Context, from Position, endEpoch int) *readAhead {
	// Room for one batch to wait and for as many as it takes to keep every
	// worker busy.
	depth := 1 + (l.options.Workers+l.options.BatchSize-1)/l.options.BatchSize
	ahead := &readAhead{jobs: make(chan imageJob), ordered: make(chan *pendingBatch, depth)}
	ahead.group.Go(func() {
		defer close(ahead.ordered)
		defer close(ahead.jobs)
		ahead.complete = l.schedule(ctx, ahead, from, endEpoch)
	})
	for range l.options.Workers {
		ahead.group.Go(func() {
			for job := range ahead.jobs {
				job.pending.errors[job.slot] = l.load(job.pending.batch, job.slot, job.index)
				if job.pending.remaining.Add(-1) == 0 {
					close(job.pending.done)
				}
			}
		})
	}
	return ahead
}

// schedule hands out the batches in order and their images to the workers. It
// reports whether it came to the end before the context was cancelled.
func (l *Loader) schedule(ctx context.Context, ahead *readAhead, from Position, endEpoch int) bool {
	for at := from; at.Epoch < endEpoch; at = (Position{Epoch: at.Epoch + 1}) {
		order := epochOrder(l.options.Seed, at.Epoch, len(l.dataset.Items), l.options.Shuffle)
		for ; at.Batch < l.Batches(); at.Batch++ {
			indices := l.batchIndices(order, at.Batch)
			pending := &pendingBatch{
				batch:  l.newBatch(at, len(indices)),
				errors: make([]error, len(indices)),
				done:   make(chan struct{}),
			}
			pending.remaining.Store(int64(len(indices)))
			select {
			case ahead.ordered <- pending:
			case <-ctx.Done():
				return false
			}
			for slot, index := range indices {
				select {
				case ahead.jobs <- imageJob{pending, slot, index}:
				case <-ctx.Done():
					return false
				}
			}
		}
	}
	return true
}

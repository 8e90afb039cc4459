package host

import "github.com/reprise-ml/reprise/runtime/device"

// channelSums holds the phases of a sum per channel over all other dimensions.
type channelSums struct {
	partial phase // sums over fixed runs of pixels
	reduce  phase // adds the partial sums in order
	total   []float64
}

// channelSums prepares sums of float64 per channel. body gets the channels of
// one pixel of each view as a slice and adds to quantities sums, each of one
// entry per channel; total holds the first quantity for all channels, then the
// next. The pixels that go into one partial sum depend on the shape alone.
func (b *binder[T]) channelSums(quantities, axis int, body func(sums [][]float64, rows [][]T, worker int), views ...view[T]) channelSums {
	c := views[0].shape[axis]
	strides := make([][]int, len(views))
	for i, v := range views {
		strides[i] = without(v.strides, axis)
	}
	walk := walkMemory(without(views[0].shape, axis), strides...)
	walk.perTask = max(1, taskLength/(c*min(walk.inner, pieceLength)))
	tasks := walk.tasks()
	partial := b.work.sums.take(tasks * quantities * c)
	total := b.work.sums.take(quantities * c)
	scratch := b.work.floats.take(b.work.workers * len(views) * c)
	rows := make([][]T, b.work.workers*len(views))
	slots := make([][]float64, tasks*quantities)
	for i := range slots {
		slots[i] = partial[i*c:][:c]
	}
	run := func(task, worker int) {
		sums := slots[task*quantities:][:quantities]
		clear(partial[task*quantities*c:][:quantities*c])
		mine := rows[worker*len(views):][:len(views)]
		spare := scratch[worker*len(views)*c:]
		for at := walk.start(task); at.next(); {
			for p := range at.n {
				for i, v := range views {
					mine[i] = gather(v.data, at.offset[i]+p*walk.steps[i], v.strides[axis], spare[i*c:][:c], false)
				}
				body(sums, mine, worker)
			}
		}
	}
	return channelSums{
		partial: phase{tasks: tasks, run: run},
		reduce:  phase{tasks: 1, run: func(int, int) { addInOrder(total, partial) }},
		total:   total,
	}
}

// addInOrder sets total to the sum of the consecutive blocks of parts.
func addInOrder[E device.Float](total, parts []E) {
	clear(total)
	for ; len(parts) > 0; parts = parts[len(total):] {
		for i, v := range parts[:len(total)] {
			total[i] += v
		}
	}
}

package host

import "github.com/reprise-ml/reprise/runtime/device"

// rowwise prepares a kernel that works element by element. The last view is
// the result; all have its shape, and a view with stride 0 repeats. body gets
// one slice per view, all of one length, and sets the last from the others;
// spare is a further slice of that length to work in. Strided memory and
// adding to the result are taken care of here.
func (b *binder[T]) rowwise(accumulate bool, body func(rows [][]T, spare []T), views ...view[T]) launch {
	if b.err != nil {
		return nil
	}
	last := len(views) - 1
	strides := make([][]int, len(views))
	for i, v := range views {
		strides[i] = v.strides
	}
	walk := walkMemory(views[last].shape, strides...)
	block := (len(views) + 1) * pieceLength
	scratch := b.work.floats.take(b.work.workers * block)
	rows := make([][]T, b.work.workers*len(views))
	run := func(task, worker int) {
		mine := rows[worker*len(views):][:len(views)]
		spare := scratch[worker*block:][:block]
		for c := walk.start(task); c.next(); {
			for i := range views {
				mine[i] = gather(views[i].data, c.offset[i], walk.steps[i], spare[i*pieceLength:][:c.n], i == last && accumulate)
			}
			body(mine, spare[len(views)*pieceLength:][:c.n])
			scatter(views[last].data, c.offset[last], walk.steps[last], mine[last], accumulate)
		}
	}
	return launch{{tasks: walk.tasks(), run: run}}
}

// gather returns the elements at offset, offset+step, ... as a slice of the
// length of spare: memory itself when they are adjacent, else a copy in spare.
// fresh demands spare, whatever it holds.
func gather[E element](data []E, offset, step int, spare []E, fresh bool) []E {
	if fresh {
		return spare
	}
	if step == 1 {
		return data[offset:][:len(spare)]
	}
	for i := range spare {
		spare[i] = data[offset+i*step]
	}
	return spare
}

// scatter puts row back where gather took it from, or adds it.
func scatter[T device.Float](data []T, offset, step int, row []T, accumulate bool) {
	switch {
	case accumulate && step == 1:
		out := data[offset:][:len(row)]
		for i, v := range row {
			out[i] += v
		}
	case accumulate:
		for i, v := range row {
			data[offset+i*step] += v
		}
	case step != 1:
		for i, v := range row {
			data[offset+i*step] = v
		}
	}
}

// perChannel views a vector (C) as a tensor of the shape of v, repeated along
// all dimensions but the channels.
func perChannel[T device.Float](vector, v view[T], axis int) view[T] {
	strides := make([]int, len(v.shape))
	if len(vector.strides) == 1 {
		strides[axis] = vector.strides[0]
	}
	return view[T]{data: vector.data, shape: v.shape, strides: strides}
}

package host

import "fmt"

// read copies a tensor into dst in row-major order of the shape.
func read[E, D element](t *tensor[E], dst []D) error {
	if err := t.checkLength(len(dst)); err != nil {
		return err
	}
	for task := range t.walk.tasks() {
		for c := t.walk.start(task); c.next(); {
			if bad := convert(dst[c.position:], 1, t.view.data[c.offset[0]:], t.walk.steps[0], c.n); bad >= 0 {
				return fmt.Errorf("tensor %s: element %d is %v, which the integer type cannot hold", t.name, c.position+bad, t.view.data[c.offset[0]+bad*t.walk.steps[0]])
			}
		}
	}
	return nil
}

// write copies src into a tensor in row-major order of the shape.
func write[E, S element](t *tensor[E], src []S) error {
	if err := t.checkLength(len(src)); err != nil {
		return err
	}
	for task := range t.walk.tasks() {
		for c := t.walk.start(task); c.next(); {
			if bad := convert(t.view.data[c.offset[0]:], t.walk.steps[0], src[c.position:], 1, c.n); bad >= 0 {
				return fmt.Errorf("tensor %s: element %d is %v, which %s cannot hold", t.name, c.position+bad, src[c.position+bad], t.Type())
			}
		}
	}
	return nil
}

// convert copies n elements between strided slices. Integers take only values
// that they hold exactly; convert returns the position of the first other
// value, or -1.
func convert[D, S element](dst []D, dstStep int, src []S, srcStep, n int) (bad int) {
	if d, same := any(dst).([]S); same && dstStep == 1 && srcStep == 1 {
		copy(d[:n], src)
		return -1
	}
	whole := isInteger[D]()
	for i := range n {
		v := src[i*srcStep]
		d := D(v)
		if whole && !holds(d, v) {
			return i
		}
		dst[i*dstStep] = d
	}
	return -1
}

func isInteger[E element]() bool {
	half := 0.5
	return E(half) == 0
}

// holds tells whether the integer d is v exactly. Floats outside the range of
// int64 convert to some value in Go, so their range is checked apart.
func holds[D, S element](d D, v S) bool {
	return S(d) == v && (isInteger[S]() || float64(v) >= -1<<63 && float64(v) < 1<<63)
}

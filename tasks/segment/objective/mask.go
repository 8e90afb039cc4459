package objective

import (
	"math"

	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// maskTerm returns the mask term of one branch before its gain: the loss of
// every positive over the area of its box in cells, over the number of
// positives. Positives are not weighted by their quality (YOLO26 specification,
// objective section 2.7). It sets the derivatives by the coefficients of
// positives, times weight, and adds those by the prototypes.
func maskTerm[T device.Float](s *step, coefficients, prototypes []T, assignment *yolo26.Assignment, weight float64, byCoefficient []T, byPrototype []float64) float64 {
	sums := make([]float64, s.Size.Batch)
	share := 1 / float64(max(assignment.Count, 1))
	size := Prototypes * s.rows * s.columns
	yolo26.Each(s.Size.Batch, func(image int) {
		m := maskImage[T]{
			step: s, prototypes: prototypes[image*size : (image+1)*size],
			byPrototype: byPrototype[image*size : (image+1)*size],
		}
		for _, positive := range assignment.Images[image] {
			row := image*s.Truth.Instances + positive.Object
			at := (image*s.Grid.Anchors() + positive.Anchor) * Prototypes
			sums[image] += m.positive(row, coefficients[at:at+Prototypes], byCoefficient[at:at+Prototypes], weight*share)
		}
	})
	total := 0.0
	for _, sum := range sums {
		total += sum
	}
	return total * share
}

// maskImage evaluates the positives of one image, one after the other.
type maskImage[T device.Float] struct {
	step        *step
	prototypes  []T
	byPrototype []float64

	logits, targets, slopes []float64
}

// positive returns the loss of one positive over the area of its box.
func (m *maskImage[T]) positive(object int, coefficients, byCoefficient []T, weight float64) float64 {
	w := m.step.window(m.step.Truth.Boxes[object])
	cells := w.rows() * w.columns()
	if cells == 0 {
		return 0
	}
	m.assemble(w, coefficients)
	m.targets = grown(m.targets, cells)
	for r := range w.rows() {
		from := m.step.masks[object][(w.top+r)*m.step.columns+w.left:]
		for c := range w.columns() {
			m.targets[r*w.columns()+c] = 0
			if from[c] {
				m.targets[r*w.columns()+c] = 1
			}
		}
	}
	m.slopes = grown(m.slopes, cells)
	loss := m.step.objective.Mask(m.logits, m.targets, m.slopes)
	for i := range m.slopes {
		m.slopes[i] *= weight / w.area
	}
	m.scatter(w, coefficients, byCoefficient)
	return loss / w.area
}

// assemble sums the prototypes under their coefficients in the window.
func (m *maskImage[T]) assemble(w window, coefficients []T) {
	m.logits = grown(m.logits, w.rows()*w.columns())
	clear(m.logits)
	for k, coefficient := range coefficients {
		for r := range w.rows() {
			into := m.logits[r*w.columns() : (r+1)*w.columns()]
			for c, p := range m.prototypes[m.step.at(k, w.top+r, w.left):][:len(into)] {
				into[c] += float64(coefficient) * float64(p)
			}
		}
	}
}

// scatter carries the derivatives by the logits to coefficients and prototypes.
func (m *maskImage[T]) scatter(w window, coefficients, byCoefficient []T) {
	for k, coefficient := range coefficients {
		sum := 0.0
		for r := range w.rows() {
			slopes := m.slopes[r*w.columns() : (r+1)*w.columns()]
			at := m.step.at(k, w.top+r, w.left)
			prototype, by := m.prototypes[at:][:len(slopes)], m.byPrototype[at:][:len(slopes)]
			for c, slope := range slopes {
				sum += slope * float64(prototype[c])
				by[c] += slope * float64(coefficient)
			}
		}
		byCoefficient[k] = T(sum)
	}
}

// at is the position of a cell of a prototype of an image.
func (s *step) at(prototype, row, column int) int {
	return (prototype*s.rows+row)*s.columns + column
}

func grown(values []float64, n int) []float64 {
	if cap(values) < n {
		return make([]float64, n)
	}
	return values[:n]
}

// window is the cells of the prototype grid whose centres a box holds, and the
// area of the box in cells, at least 1.
type window struct {
	left, top, right, bottom int // half open
	area                     float64
}

func (w window) rows() int    { return w.bottom - w.top }
func (w window) columns() int { return w.right - w.left }

// window counts a centre on the left or top edge in, on the right or bottom
// edge out.
func (s *step) window(box yolo26.Box) window {
	scaleX, scaleY := float64(s.columns)/float64(s.Size.Width), float64(s.rows)/float64(s.Size.Height)
	x1, y1, x2, y2 := box.X1*scaleX, box.Y1*scaleY, box.X2*scaleX, box.Y2*scaleY
	first := func(edge float64, count int) int {
		return int(math.Min(math.Max(math.Ceil(edge-0.5), 0), float64(count)))
	}
	w := window{left: first(x1, s.columns), top: first(y1, s.rows), area: math.Max(math.Max(x2-x1, 0)*math.Max(y2-y1, 0), 1)}
	w.right, w.bottom = max(first(x2, s.columns), w.left), max(first(y2, s.rows), w.top)
	return w
}

package fuzz

import (
	"fmt"
	"strconv"

	"github.com/reprise-ml/reprise/gen/stage"
)

// choices reads decisions out of fuzzed bytes. After the last byte every
// decision is zero, so a prefix of a seed is a smaller graph.
type choices struct{ data []byte }

func (c *choices) next() int {
	if len(c.data) == 0 {
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return int(b)
}

// below chooses a number from 0 to n-1.
func (c *choices) below(n int) int { return c.next() % n }

// mostOperations bounds a graph, so that one input takes milliseconds.
const mostOperations = 12

// Multiple of height and width in pixels of every random graph.
const multiple = 8

// define makes a stage out of bytes: an image, up to mostOperations operations on
// maps, and one or two outputs. Not every graph is legal: some bytes choose sizes
// that do not fit, which the builder must refuse with a message.
func define(data []byte) *stage.Definition {
	return stage.Define("random", func(b *stage.Builder) {
		c := &choices{data}
		b.Multiple(multiple)
		channels := 1 + c.below(4)
		maps := []stage.Tensor{b.Input("image", stage.Shape{stage.Batch, stage.Size(channels), stage.Height, stage.Width}, stage.Differentiable())}
		count := 1 + c.below(mostOperations)
		for i := range count {
			made := operation(b.Scope("op"+strconv.Itoa(i)), c, maps)
			maps = append(maps, made...)
		}
		output(b, c, "last", maps[len(maps)-1])
		if c.below(2) == 1 {
			output(b, c, "other", maps[c.below(len(maps)-1)+1], stage.Optional())
		}
	})
}

// output declares a map, or its anchors.
func output(b *stage.Builder, c *choices, name string, x stage.Tensor, options ...stage.OutputOption) {
	if c.below(2) == 1 {
		x = b.Anchors(x)
	}
	b.Output(name, x, options...)
}

// operation adds one operation on maps made so far, the latest ones more often.
func operation(b *stage.Builder, c *choices, maps []stage.Tensor) []stage.Tensor {
	pick := func() stage.Tensor { return maps[max(0, len(maps)-1-c.below(4))] }
	one := func(t stage.Tensor) []stage.Tensor { return []stage.Tensor{t} }
	x := pick()
	switch c.below(14) {
	case 0:
		return one(b.Conv2d(x, stage.Conv{Out: c.below(9), Kernel: c.below(6), Stride: c.below(4), Groups: c.below(3), Bias: stage.UniformBias}))
	case 1:
		return one(b.Conv2d(x, stage.Conv{Out: 1 + c.below(8), Kernel: 1 + 2*c.below(2), Stride: 1 + c.below(2)}))
	case 2:
		return one(b.Conv2d(x, stage.Conv{Out: x.Channels(), Kernel: 3, Groups: x.Channels()}))
	case 3:
		return one(b.SiLU(b.BatchNorm(x, stage.Norm{Epsilon: 1e-3, Momentum: 0.03})))
	case 4:
		return one(b.BatchNorm(x, stage.Norm{Epsilon: 1e-3, Momentum: float64(c.below(3)) / 2}))
	case 5:
		return one([]func(stage.Tensor) stage.Tensor{b.SiLU, b.Sigmoid, b.Tanh}[c.below(3)](x))
	case 6:
		return one(b.Add(x, pick()))
	case 7:
		return one(b.Multiply(x, pick()))
	case 8:
		return one(b.Scale(x, float64(c.below(5)-2)/2))
	case 9:
		return one(b.MaxPool(x, stage.Pool{Kernel: c.below(6), Stride: c.below(3), Padding: c.below(3)}))
	case 10:
		return one(b.Upsample(x))
	case 11:
		return one(b.Concat(x, pick()))
	case 12:
		return b.Split(x, 1+c.below(2), max(1, x.Channels()-1-c.below(2)))
	default:
		return one(attention(b, x))
	}
}

// attention mixes all places of a map, and gives one of as many channels as values
// have. Of three channels and more, the first is the query, the second the key and the
// others are values; else all are each.
func attention(b *stage.Builder, x stage.Tensor) stage.Tensor {
	heads := b.Heads(x, 1)
	query, key, value := heads, heads, heads
	if n := x.Channels(); n > 2 {
		parts := b.Split(heads, 1, 1, n-2)
		query, key, value = parts[0], parts[1], parts[2]
	}
	scores := b.Softmax(b.MatMul(query, key, stage.Product{TransposeA: true, Alpha: 0.5}))
	return b.Map(b.MatMul(value, scores, stage.Product{TransposeB: true}), x)
}

// same tells where two lists of values differ in their bits.
func same(a, b [][]uint64) error {
	for i := range a {
		for j := range a[i] {
			if a[i][j] != b[i][j] {
				return fmt.Errorf("tensor %d, element %d: bits %x and %x", i, j, a[i][j], b[i][j])
			}
		}
	}
	return nil
}

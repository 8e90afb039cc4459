package yolo26

import (
	"strconv"

	"github.com/reprise-ml/reprise/gen/stage"
)

// Bottleneck is x + CBS3x3(CBS3x3(x)), all of x's width. State entries: cv1 and
// cv2 (YOLO26 specification, network section 2; every use in the family has
// expansion 1 and a shortcut).
func Bottleneck(b *stage.Builder, x stage.Tensor) stage.Tensor {
	conv := stage.Conv{Out: x.Channels(), Kernel: 3}
	y := CBS(b.Scope("cv1"), x, conv)
	y = CBS(b.Scope("cv2"), y, conv)
	return b.Add(x, y)
}

// C3k passes x through two 1x1 CBS of half of out channels each, the first
// followed by the given number of bottlenecks, and joins the two streams, the
// refined one first, with a third. State entries: cv1, cv2, blocks.i, cv3.
func C3k(b *stage.Builder, x stage.Tensor, out, bottlenecks int) stage.Tensor {
	half := stage.Conv{Out: out / 2}
	refined := CBS(b.Scope("cv1"), x, half)
	direct := CBS(b.Scope("cv2"), x, half)
	for i := range bottlenecks {
		refined = Bottleneck(b.Scope("blocks", strconv.Itoa(i)), refined)
	}
	return CBS(b.Scope("cv3"), b.Concat(refined, direct), stage.Conv{Out: out})
}

// Inner is the repeated unit of a C3k2; it keeps shape and width of x.
type Inner func(b *stage.Builder, x stage.Tensor) stage.Tensor

// Nested is the inner unit C3k with one bottleneck.
func Nested(b *stage.Builder, x stage.Tensor) stage.Tensor { return C3k(b, x, x.Channels(), 1) }

// AttentionTail is the inner unit of the last block of the neck: a C3k with two
// bottlenecks (unit 0) and a PSABlock (unit 1).
func AttentionTail(b *stage.Builder, x stage.Tensor) stage.Tensor {
	x = C3k(b.Scope("0"), x, x.Channels(), 2)
	return PSABlock(b.Scope("1"), x)
}

// C3k2Shape holds the sizes of a C3k2.
type C3k2Shape struct {
	Out       int     // output channels
	Repeats   int     // inner units
	Expansion float64 // width of an inner unit, as a part of Out
}

// C3k2 projects x to two halves, passes the second through a chain of inner
// units and joins both halves and the result of every unit. State entries: cv1,
// blocks.i, cv2.
func C3k2(b *stage.Builder, x stage.Tensor, s C3k2Shape, inner Inner) stage.Tensor {
	hidden := int(float64(s.Out) * s.Expansion)
	x = CBS(b.Scope("cv1"), x, stage.Conv{Out: 2 * hidden})
	parts := b.Chunk(x, 2)
	for i := range s.Repeats {
		parts = append(parts, inner(b.Scope("blocks", strconv.Itoa(i)), parts[len(parts)-1]))
	}
	return CBS(b.Scope("cv2"), b.Concat(parts...), stage.Conv{Out: s.Out})
}

// SPPF pools x, at half its width, three times over windows of 5 and joins what
// it had after each: x + CBS1x1(cat[p0, p1, p2, p3]). State entries: cv1, cv2.
func SPPF(b *stage.Builder, x stage.Tensor) stage.Tensor {
	channels := x.Channels()
	pooled := []stage.Tensor{CBS(b.Scope("cv1"), x, stage.Conv{Out: channels / 2})}
	for i := range 3 {
		pooled = append(pooled, b.MaxPool(pooled[i], stage.Pool{Kernel: 5, Padding: 2}))
	}
	return b.Add(x, CBS(b.Scope("cv2"), b.Concat(pooled...), stage.Conv{Out: channels}))
}

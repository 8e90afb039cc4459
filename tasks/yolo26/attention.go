package yolo26

import (
	"math"
	"strconv"

	"github.com/reprise-ml/reprise/gen/stage"
)

// headWidth is the width of one attention head.
const headWidth = 64

// Attention lets every position of x attend to every other, with queries and
// keys of half the width of values, and adds a depthwise convolution of the
// values as position encoding. State entries: qkv, pe, proj (YOLO26
// specification, network section 2).
func Attention(b *stage.Builder, x stage.Tensor) stage.Tensor {
	channels := x.Channels()
	heads := max(1, channels/headWidth)
	width := channels / heads
	key := width / 2

	qkv := CB(b.Scope("qkv"), x, stage.Conv{Out: heads * (2*key + width)})
	parts := b.Split(b.Heads(qkv, heads), key, key, width)
	query, keys, value := parts[0], parts[1], parts[2]

	scores := b.MatMul(query, keys, stage.Product{TransposeA: true, Alpha: 1 / math.Sqrt(float64(key))})
	mixed := b.MatMul(value, b.Softmax(scores), stage.Product{TransposeB: true})

	position := CB(b.Scope("pe"), b.Map(value, x), stage.Conv{Out: channels, Kernel: 3, Groups: channels})
	return CB(b.Scope("proj"), b.Add(b.Map(mixed, x), position), stage.Conv{Out: channels})
}

// PSABlock is attention and a feed-forward pair of 1x1 convolutions, each added
// to its input. State entries: attn, ffn.0 (CBS), ffn.1 (CB).
func PSABlock(b *stage.Builder, x stage.Tensor) stage.Tensor {
	channels := x.Channels()
	x = b.Add(x, Attention(b.Scope("attn"), x))
	y := CBS(b.Scope("ffn", "0"), x, stage.Conv{Out: 2 * channels})
	y = CB(b.Scope("ffn", "1"), y, stage.Conv{Out: channels})
	return b.Add(x, y)
}

// C2PSA splits x in halves, passes the second through the given number of
// PSABlocks and joins them again, the untouched half first. State entries: cv1,
// blocks.i, cv2.
func C2PSA(b *stage.Builder, x stage.Tensor, blocks int) stage.Tensor {
	channels := x.Channels()
	hidden := channels / 2
	halves := b.Chunk(CBS(b.Scope("cv1"), x, stage.Conv{Out: 2 * hidden}), 2)
	kept, attended := halves[0], halves[1]
	for i := range blocks {
		attended = PSABlock(b.Scope("blocks", strconv.Itoa(i)), attended)
	}
	return CBS(b.Scope("cv2"), b.Concat(kept, attended), stage.Conv{Out: channels})
}

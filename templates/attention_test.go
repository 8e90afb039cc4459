package templates

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

// attended is a stage with attention of two heads over a map of a side divided by
// 32, and the gradients of a set (see shelf.attention).
func attended(key, value, set int) *shelf {
	s := newShelf("attended")
	n := side(1, 32)[2].Mul(side(1, 32)[3])
	heads := func(width int) ir.Ref { return s.heads(width, n) }
	s.attention(ir.Attention{
		Q: heads(key), K: heads(key), V: heads(value), Y: heads(value), LogSum: s.tensor(ir.Master, ir.RowMajor, false, ir.N, ir.Const(2), n),
		Alpha: 0.5, TransposeQ: true, TransposeK: true, TransposeV: true, TransposeY: true,
	}, []int{set}, heads(value), heads(key), heads(key), heads(value))
	return s
}

// gridAt gives the blocks of a launch along each axis.
func gridAt(t *testing.T, l Launch, z ir.Sizes) (grid [3]int64) {
	t.Helper()
	for i, e := range l.Grid {
		v, err := e.Eval(z)
		require.NoError(t, err)
		grid[i] = v
	}
	return grid
}

// One launch forward and two backward, whose blocks make 64 positions each: at 1024 px
// and batch 4 as many as keep a large GPU busy. Positions that do not fill a block
// get one of their own.
func TestAttentionLaunches(t *testing.T) {
	large, odd := ir.Sizes{Batch: 4, Height: 1024, Width: 1024}, ir.Sizes{Batch: 3, Height: 160, Width: 416} // 1024 and 65 positions
	for _, c := range []struct {
		set            int
		atLarge, atOdd int64
		q, k, v        string
	}{
		{1, 16, 2, "added", "unwanted", "unwanted"},
		{2, 16, 2, "unwanted", "written", "unwanted"},
		{4, 16, 2, "unwanted", "unwanted", "written"},
		{7, 32, 4, "written", "added", "added"},
	} {
		lists := mustLaunches(t, attended(32, 64, c.set).stage)
		require.Len(t, lists, 3)
		require.Equal(t, [3]int64{16, 1, 8}, gridAt(t, lists[0], large))
		require.Equal(t, [3]int64{2, 1, 6}, gridAt(t, lists[0], odd))
		require.Equal(t, [3]int64{32, 1, 8}, gridAt(t, lists[1], large))
		require.Equal(t, [3]int64{4, 1, 6}, gridAt(t, lists[1], odd), "rows up to a multiple of 64")
		require.Equal(t, [3]int64{c.atLarge, 1, 8}, gridAt(t, lists[2], large))
		require.Equal(t, [3]int64{c.atOdd, 1, 6}, gridAt(t, lists[2], odd))
		require.True(t, strings.HasSuffix(lists[2].Kernel.Call, fmt.Sprintf(", %s, %s, %s>", c.q, c.k, c.v)), lists[2].Kernel.Call)
		scratch, err := lists[1].Scratch.Eval(odd)
		require.NoError(t, err)
		require.EqualValues(t, 6*128*8, scratch, "a pair of numbers for each row")
	}
}

// Operands come in 16-byte copies where all of them are aligned. What the ring of a
// block holds fits into shared memory for all widths that are served.
func TestAttentionTiles(t *testing.T) {
	for _, c := range []struct {
		key, value int
		plain      bool
	}{{32, 64, true}, {64, 128, true}, {8, 8, true}, {4, 8, false}, {8, 12, false}, {1, 1, false}, {64, 8, true}, {8, 128, true}} {
		for _, l := range mustLaunches(t, attended(c.key, c.value, 7).stage) {
			require.LessOrEqual(t, l.Kernel.Shared, dynamicBytes, l.Kernel.Call)
			require.Contains(t, l.Kernel.Call, fmt.Sprintf("%d, %v", c.value, c.plain))
			if l.Kernel.Shared > 0 {
				require.Contains(t, l.Kernel.Call, fmt.Sprintf(", %d, 0x3f000000u", l.Kernel.Shared), "the kernel knows what the launch asks for")
			}
		}
	}
	s := attended(32, 64, 7)
	s.stage.Tensor(s.stage.Forward[0].Do.(*ir.Attention).K).Offset = ir.Const(4)
	require.Contains(t, mustLaunches(t, s.stage)[0].Kernel.Call, "32, 64, false", "one operand lies apart")
}

func TestAttentionRefusals(t *testing.T) {
	for want, change := range map[string]func(s *shelf, k *ir.Attention, g *ir.AttentionGradient){
		"keys of width 65 and values of width 64; at most 64 and 128 are served": func(s *shelf, k *ir.Attention, _ *ir.AttentionGradient) {
			k.Q, k.K = s.heads(65, ir.Const(9)), s.heads(65, ir.Const(9))
			k.V, k.Y = s.heads(64, ir.Const(9)), s.heads(64, ir.Const(9))
		},
		"t has shape (N, 2, 31, H*W/1024), which does not go with the other operands": func(s *shelf, k *ir.Attention, _ *ir.AttentionGradient) {
			k.K = s.heads(31, side(1, 32)[2].Mul(side(1, 32)[3]))
		},
		"t has shape (N, 2, 64, 9), which does not go with the other operands": func(s *shelf, k *ir.Attention, _ *ir.AttentionGradient) {
			k.Y = s.heads(64, ir.Const(9))
		},
		"t has shape (7), not N*H*W/512 elements": func(s *shelf, k *ir.Attention, _ *ir.AttentionGradient) { k.LogSum = s.master(7) },
		"no gradient is wanted":                   func(_ *shelf, _ *ir.Attention, g *ir.AttentionGradient) { g.DQ, g.DK, g.DV = 0, 0, 0 },
	} {
		s := attended(32, 64, 7)
		change(s, s.stage.Forward[0].Do.(*ir.Attention), s.stage.Forward[1].Do.(*ir.AttentionGradient))
		_, err := Launches(s.stage, s.stage.Forward, ir.Training)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "example/net.go:")
	}
}

package yolo26_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/inspect"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// The table holds name, kind, sizes and parameters of every convolution of the
// nano trunk (YOLO26 specification, network section 6).
func TestNanoTrunkLayerByLayer(t *testing.T) {
	table, err := os.ReadFile("testdata/nano-trunk-640.tsv")
	require.NoError(t, err)
	want := strings.Split(strings.TrimSpace(string(table)), "\n")[1:]

	layers, err := inspect.Layers(build(t, yolo26.Nano, yolo26.Detection(80)), ir.Sizes{Batch: 2, Height: 640, Width: 640})
	require.NoError(t, err)
	var got []string
	for _, l := range layers {
		if !strings.HasPrefix(l.Kind, "conv") || strings.HasPrefix(l.Name, "head.") {
			continue
		}
		got = append(got, fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d", l.Name, l.Kind,
			l.In[0][1], l.Out[1], l.Kernel, l.Stride, l.Groups, l.Out[2], l.Out[3], l.Parameters))
	}
	require.Equal(t, want, got)
}

func TestScaleChannelsAndRepeats(t *testing.T) {
	for _, test := range []struct {
		scale   yolo26.Scale
		widths  [5]int
		repeats int
	}{
		{yolo26.Nano, [5]int{16, 32, 64, 128, 256}, 1},
		{yolo26.Small, [5]int{32, 64, 128, 256, 512}, 1},
		{yolo26.Medium, [5]int{64, 128, 256, 512, 512}, 1},
		{yolo26.Large, [5]int{64, 128, 256, 512, 512}, 2},
		{yolo26.Extra, [5]int{96, 192, 384, 768, 768}, 2},
		{yolo26.Test, [5]int{8, 16, 32, 64, 128}, 1},
		{yolo26.Scale{Depth: 1.25, Width: 0.33, Cap: 512}, [5]int{21, 42, 84, 168, 168}, 2},
		{yolo26.Scale{Depth: 0.1, Width: 1, Cap: 64}, [5]int{64, 64, 64, 64, 64}, 1},
	} {
		var widths [5]int
		for i := range widths {
			widths[i] = test.scale.Channels(64 << i)
		}
		require.Equal(t, test.widths, widths, test.scale)
		require.Equal(t, test.repeats, test.scale.Repeats(), test.scale)
	}
}

func TestParametersStartAsSpecified(t *testing.T) {
	s := build(t, yolo26.Nano, yolo26.Segmentation(4))
	byName := map[string]ir.Initialise{}
	for _, p := range s.Parameters {
		byName[p.Name] = p.Init
	}
	require.Equal(t, ir.Initialise{Bound: 1 / math.Sqrt(27)}, byName["backbone.stem.conv.weight"])
	require.Equal(t, ir.Initialise{Value: 1}, byName["backbone.stem.bn.weight"])
	require.Equal(t, ir.Initialise{}, byName["backbone.stem.bn.bias"])
	require.Equal(t, ir.Initialise{Bound: 1.0 / 3}, byName["head.o2m.box_stems.0.0.0.conv.conv.weight"], "depthwise: fan in 9")
	require.Equal(t, ir.Initialise{Bound: 1 / math.Sqrt(21)}, byName["head.o2m.box_stems.0.2.bias"])
	for _, name := range []string{"head.o2o.cls_stems.2.2.bias", "head.o2m.cls_stems.0.2.bias", "semantic.classifier.bias"} {
		require.InDelta(t, -4.59511985, byName[name].Value, 5e-9, name)
		require.Zero(t, byName[name].Bound, name)
	}
}

// The wiring that counts cannot see: attention scores scaled by the width of a
// key, softmax over keys, values applied to the transposed scores.
func TestAttentionWiring(t *testing.T) {
	s := build(t, yolo26.Small, yolo26.Detection(1))
	var products []*ir.MatMul
	for i := range s.Forward {
		if k, is := s.Forward[i].Do.(*ir.MatMul); is {
			products = append(products, k)
		}
	}
	require.Len(t, products, 4, "two products in the backbone and two in the neck")
	scores, mixed := products[0], products[1]
	require.Equal(t, "(N, 4, 32, H*W/1024)", ir.ShapeText(s.Tensor(scores.A).Shape))
	require.Equal(t, "(N, 4, H*W/1024, H*W/1024)", ir.ShapeText(s.Tensor(scores.Y).Shape))
	require.True(t, scores.TransposeA && !scores.TransposeB)
	require.InDelta(t, 1/math.Sqrt(32), scores.Alpha, 1e-15)
	require.Equal(t, "(N, 4, 64, H*W/1024)", ir.ShapeText(s.Tensor(mixed.A).Shape))
	require.True(t, mixed.TransposeB && !mixed.TransposeA)
	require.Equal(t, 1.0, mixed.Alpha)
}

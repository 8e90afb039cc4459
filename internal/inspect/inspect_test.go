package inspect_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/internal/inspect"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// small has one operation of every kind that counts, with numbers that can be
// worked out by hand, a training branch and a training-only output.
func small(t *testing.T) *ir.Stage {
	t.Helper()
	s, err := stage.Define("small", func(b *stage.Builder) {
		b.Multiple(2)
		x := b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width})
		x = yolo26.CBS(b.Scope("stem"), x, stage.Conv{Out: 4, Kernel: 3, Stride: 2})
		y := b.Upsample(b.Scope("one").Conv2d(x, stage.Conv{Out: 2, Bias: stage.UniformBias}))
		m := b.Heads(x, 2)
		p := b.MatMul(m, m, stage.Product{TransposeA: true})
		b.Output("o2m_y", yolo26.CB(b.Scope("many"), x, stage.Conv{Out: 5}))
		b.Output("o2o_y", y)
		b.Output("product", p)
		b.Output("attended", b.MatMul(b.Softmax(b.MatMul(m, m, stage.Product{TransposeA: true})), m, stage.Product{TransposeB: true}))
		b.Output("auxiliary", b.Scope("auxiliary").Conv2d(x, stage.Conv{Out: 1}), stage.TrainingOnly())
	}).Build()
	require.NoError(t, err)
	return s
}

func TestWorkByHand(t *testing.T) {
	s := small(t)
	// At 4 x 6 px the stem gives 4 maps of 2 x 3 per image; batch 2.
	sizes := ir.Sizes{Batch: 2, Height: 4, Width: 6}
	want := inspect.Work{
		Convolution: 2 * 6 * (4*27 + 2*4 + 5*4 + 1*4),
		Product:     2*2*6*6*2 + 2*2*6*6*(2+2),
		Normalized:  2 * 6 * (4 + 5),
		Upsampled:   2 * 2 * 24,
	}
	plan, err := pass.Run(s, nil)
	require.NoError(t, err)
	for name, one := range map[string]*ir.Stage{"as written": s, "after the passes": plan} {
		got, err := inspect.ForwardWork(one, sizes)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
		require.Equal(t, 4*27+4+4+2*4+2+5*4+5+5+4, inspect.Parameters(one), name)

		deployed := inspect.Deployed(one)
		require.Equal(t, 4*27+4+4+2*4+2, inspect.Parameters(deployed), name)
		got, err = inspect.ForwardWork(deployed, sizes)
		require.NoError(t, err, name)
		require.Equal(t, inspect.Work{
			Convolution: 2 * 6 * (4*27 + 2*4), Product: want.Product, Normalized: 2 * 6 * 4, Upsampled: want.Upsampled,
		}, got, name)
		for i := range deployed.Forward {
			require.NotEqual(t, ir.Training, deployed.Forward[i].Mode, name)
		}
		require.Len(t, one.Outputs, 5, "the stage itself is left as it was")
	}
	require.InDelta(t, 2e-9*float64(want.Convolution+want.Product+2*want.Normalized+want.Upsampled), want.GFLOPs(), 1e-18)
	require.Equal(t, want.Convolution+want.Product, want.MACs())
	require.Equal(t, 9, inspect.ParameterTensors(s))
	require.Equal(t, 9+6, inspect.StateEntries(s))

	_, err = inspect.ForwardWork(s, ir.Sizes{Batch: 1, Height: 5, Width: 4})
	require.ErrorContains(t, err, "multiple of 2 x 2 px")
}

func TestLayers(t *testing.T) {
	layers, err := inspect.Layers(small(t), ir.Sizes{Batch: 2, Height: 4, Width: 6})
	require.NoError(t, err)
	var names []string
	for _, l := range layers {
		names = append(names, l.Name+": "+l.Kind)
	}
	require.Equal(t, []string{"stem: conv+BN+SiLU", "one: conv+bias", "upsample: upsample", "matmul: matmul", "many: conv+BN", "matmul.2: matmul", "softmax: softmax", "matmul.3: matmul", "auxiliary: conv"}, names)
	require.Equal(t, [][]int{{2, 3, 4, 6}}, layers[0].In)
	require.Equal(t, []int{2, 4, 2, 3}, layers[0].Out)
	require.Equal(t, 4*27+8, layers[0].Parameters)
	require.Equal(t, 2*6*4*27, layers[0].MACs)
	require.Equal(t, [3]int{3, 2, 1}, [3]int{layers[0].Kernel, layers[0].Stride, layers[0].Groups})
	require.Equal(t, []int{2, 2, 6, 6}, layers[3].Out)
}

func TestPrograms(t *testing.T) {
	op := func(mode ir.Mode, lane int) ir.Op { return ir.Op{Mode: mode, Lane: lane, Do: &ir.Copy{}} }
	plan := &ir.Stage{
		Forward:  []ir.Op{op(ir.Always, 0), op(ir.Training, 2), op(ir.Eval, 1)},
		Backward: []ir.Backward{{Present: []string{"a", "b"}, Ops: []ir.Op{op(ir.Always, 0)}}},
	}
	require.Equal(t, []inspect.Program{
		{Name: "forward (training)", Launches: 2, Lanes: 3},
		{Name: "forward (evaluation)", Launches: 2, Lanes: 2},
		{Name: "backward of a, b", Launches: 1, Lanes: 1},
	}, inspect.Programs(plan))
}

func report(t *testing.T) *inspect.Report {
	t.Helper()
	network, err := inspect.FindNetwork("obb")
	require.NoError(t, err)
	r, err := inspect.Inspect(inspect.Request{Network: network, Scale: yolo26.Test, Classes: 15, Sizes: ir.Sizes{Batch: 2, Height: 64, Width: 96}})
	require.NoError(t, err)
	return r
}

func TestReportIsTheSameEveryTime(t *testing.T) {
	var first [3]string
	for i := range 3 {
		var out [3]bytes.Buffer
		r := report(t)
		require.NoError(t, r.WriteText(&out[0]))
		require.NoError(t, r.WriteJSON(&out[1]))
		require.NoError(t, r.WriteSVG(&out[2]))
		for k := range out {
			if i == 0 {
				first[k] = out[k].String()
			}
			require.Equal(t, first[k], out[k].String())
		}
	}
	require.Contains(t, first[0], "659 506 in 453 tensors")
	require.Regexp(t, `(?m)^backbone\.stem +conv\+BN\+SiLU +2x3x64x96 +2x8x32x48 +3 +2 +1 +232 +663 552$`, first[0])
	var read inspect.Report
	require.NoError(t, json.Unmarshal([]byte(first[1]), &read))
	require.Equal(t, 659506, read.Parameters)
	require.Len(t, read.Programs, 4, "two forward programs, and backward with and without angles")
}

// Every box is inside the drawing and no two boxes overlap.
func TestDrawing(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, report(t).WriteSVG(&out))
	text := out.String()
	for _, want := range []string{"down_p5", "attn_p5", "top_down_p3", "bottom_up_p5", "one-to-many (o2m)", "o2o_angle", "126 × 15"} {
		require.Contains(t, text, want)
	}
	type rect struct {
		X      float64 `xml:"x,attr"`
		Y      float64 `xml:"y,attr"`
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Round  string  `xml:"rx,attr"`
		Dashed string  `xml:"stroke-dasharray,attr"`
	}
	var units []rect
	var all rect
	dashed := 0
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		start, is := token.(xml.StartElement)
		if !is || start.Name.Local != "rect" {
			continue
		}
		var r rect
		require.NoError(t, decoder.DecodeElement(&r, &start))
		switch {
		case r.Round != "":
			units = append(units, r)
			if r.Dashed != "" {
				dashed++
			}
		case all.Width == 0:
			all = r
		}
	}
	require.Equal(t, 1+11+6+6+6+2+7, len(units), "image, backbone, neck, its joins, head levels, outputs, legend")
	require.Equal(t, 4, dashed, "the one-to-many branch at three levels and its outputs")
	for i, a := range units {
		require.True(t, a.X >= 0 && a.Y >= 0 && a.X+a.Width <= all.Width && a.Y+a.Height <= all.Height, a)
		for _, b := range units[:i] {
			apart := a.X+a.Width <= b.X || b.X+b.Width <= a.X || a.Y+a.Height <= b.Y || b.Y+b.Height <= a.Y
			require.True(t, apart, "%v overlaps %v", a, b)
		}
	}
}

func TestUnknownNamesSuggestTheNearest(t *testing.T) {
	_, err := inspect.FindNetwork("obbb")
	require.EqualError(t, err, `unknown task "obbb"; did you mean obb? there are detect, obb, pose, segment`)
	_, err = inspect.FindScale("large")
	require.ErrorContains(t, err, "did you mean l?")
	_, err = inspect.FindScale("N")
	require.EqualError(t, err, `unknown scale "N"; did you mean n? there are n, s, m, l, x, t`)
}

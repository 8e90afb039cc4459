package inspect_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/internal/inspect"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// published holds the counts of one task at the scales n, s, m, l and x (YOLO26
// specification, network sections 9 and 10).
type published struct {
	classes    int
	parameters [5]int
	gflops     [5]float64
	deployed   [5]int
	tensors    [2]int // n, s, m and l, x
	entries    [2]int
}

var publishedCounts = map[string]published{
	"detect": {
		80,
		[5]int{2437552, 9609632, 20132032, 24363712, 54672216},
		[5]float64{5.4270, 21.0023, 67.8884, 90.0504, 201.6605},
		[5]int{2334752, 9251680, 19533440, 23765120, 53377116},
		[2]int{369, 453},
		[2]int{714, 882},
	},
	"obb": {
		15,
		[5]int{2563976, 10120782, 21009774, 25241454, 56652248},
		[5]float64{14.6771, 55.9375, 178.3644, 235.5899, 526.5584},
		[5]int{2397964, 9507255, 19972311, 24203991, 54367132},
		[2]int{453, 537},
		[2]int{870, 1038},
	},
	"pose": {
		80,
		[5]int{2548204, 9983184, 20752880, 24984560, 56000752},
		[5]float64{5.5508, 21.3892, 68.9285, 91.0905, 203.8568},
		[5]int{2390078, 9438456, 19843864, 24075544, 54041384},
		[2]int{453, 537},
		[2]int{870, 1038},
	},
	"segment": {
		80,
		[5]int{2717284, 10665440, 23374848, 27606528, 61899656},
		[5]float64{8.9974, 34.9670, 122.7223, 144.8843, 324.5766},
		[5]int{2559394, 10121192, 22460680, 26692360, 59932636},
		[2]int{473, 557},
		[2]int{902, 1070},
	},
}

// The shipped definitions, cut into stages as they are, have the counts of the
// specification at every scale.
func TestCountsOfEveryTaskAndScale(t *testing.T) {
	require.Len(t, inspect.Networks(), len(publishedCounts))
	for _, network := range inspect.Networks() {
		want, known := publishedCounts[network.Task]
		require.True(t, known, network.Task)
		for i, scale := range yolo26.Scales()[:5] {
			t.Run(network.Task+"/"+scale.Name, func(t *testing.T) {
				joined := joinedNetwork(t, network, scale, want.classes)
				deep := 0
				if scale.Depth == 1 {
					deep = 1
				}
				require.Equal(t, want.parameters[i], inspect.Parameters(joined))
				require.Equal(t, want.tensors[deep], inspect.ParameterTensors(joined))
				require.Equal(t, want.entries[deep], inspect.StateEntries(joined))
				deployed := inspect.Deployed(joined)
				require.Equal(t, want.deployed[i], inspect.Parameters(deployed))
				work, err := inspect.ForwardWork(deployed, ir.Sizes{Batch: 1, Height: network.Size, Width: network.Size})
				require.NoError(t, err)
				require.InDelta(t, want.gflops[i], work.GFLOPs(), 5e-5, "four decimals are published")
			})
		}
	}
}

func joinedNetwork(t *testing.T, network inspect.Network, scale yolo26.Scale, classes int) *ir.Stage {
	t.Helper()
	var stages []*ir.Stage
	for _, d := range network.Define(inspect.Model{Scale: scale, Classes: classes, Keypoints: network.Keypoints}) {
		s, err := d.Build()
		require.NoError(t, err)
		stages = append(stages, s)
	}
	joined, err := inspect.Join(network.Task, stages...)
	require.NoError(t, err)
	return joined
}

func TestReportOfSeveralStages(t *testing.T) {
	for _, network := range inspect.Networks() {
		r, err := inspect.Inspect(inspect.Request{Network: network, Scale: yolo26.Test, Classes: 3, Sizes: ir.Sizes{Batch: 2, Height: 64, Width: 96}})
		require.NoError(t, err, network.Task)
		var text, drawing bytes.Buffer
		require.NoError(t, r.WriteText(&text))
		require.NoError(t, r.WriteSVG(&drawing), network.Task)
		if network.Task == "segment" {
			require.Contains(t, text.String(), "coefficients: backward of o2o_coeff")
			require.Contains(t, drawing.String(), "prototypes")
			require.Positive(t, r.Arenas[0].Bytes)
		}
	}
}

func TestJoin(t *testing.T) {
	half := func(name, in, out string) *ir.Stage {
		s, err := stage.Define(name, func(b *stage.Builder) {
			x := b.Input(in, stage.Shape{stage.Batch, 2, stage.Height, stage.Width}, stage.Differentiable())
			b.Output(out, b.Scope(name).Conv2d(x, stage.Conv{Out: 2}))
		}).Build()
		require.NoError(t, err)
		return s
	}
	first, second := half("first", "image", "middle"), half("second", "middle", "end")
	joined, err := inspect.Join("both", first, second)
	require.NoError(t, err)
	require.Len(t, joined.Inputs, 1)
	require.Len(t, joined.Outputs, 1)
	require.Equal(t, "end", joined.Outputs[0].Name)
	require.Equal(t, joined.Forward[0].Writes(), joined.Forward[1].Reads()[:1])
	require.Equal(t, 8, inspect.Parameters(joined))
	require.Len(t, first.Outputs, 1, "the stages are left as they were")

	_, err = inspect.Join("both", first, half("second", "middle", "middle2"), half("third", "middle", "middle2"))
	require.ErrorContains(t, err, "stage third: the output middle2 has the name of an earlier input or output")
}

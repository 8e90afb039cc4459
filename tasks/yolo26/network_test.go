package yolo26_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/internal/inspect"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// network defines trunk and head of a task with every branch that belongs to it.
func network(scale yolo26.Scale, task yolo26.Task) *stage.Definition {
	return stage.Define("network", func(b *stage.Builder) {
		levels := yolo26.Trunk(b, scale, yolo26.Image(b))
		for _, branch := range yolo26.Head(b, levels, task) {
			b.Output(branch.Name+"_cls", branch.Class)
			b.Output(branch.Name+"_box", branch.Box)
			if task.Angle {
				b.Output(branch.Name+"_angle", branch.Angle)
			}
			if task.Coefficients > 0 {
				b.Output(branch.Name+"_coeff", branch.Coefficient)
			}
			if task.Points > 0 {
				b.Output(branch.Name+"_keypoint", branch.Keypoint)
			}
		}
		if task.Coefficients > 0 {
			fused := yolo26.Fuse(b, levels)
			b.Output("prototypes", yolo26.PrototypeNet(b, fused))
			b.Output("semantic", yolo26.Semantic(b, fused, task.Classes), stage.TrainingOnly())
		}
	})
}

func build(t *testing.T, scale yolo26.Scale, task yolo26.Task) *ir.Stage {
	t.Helper()
	s, err := network(scale, task).Build()
	require.NoError(t, err)
	return s
}

// pinned holds the counts of one task at the scales n, s, m, l and x (YOLO26
// specification, network sections 9 and 10).
type pinned struct {
	name       string
	task       yolo26.Task
	size       int
	parameters [5]int
	gflops     [5]float64
	deployed   [5]int
	tensors    [2]int // n, s, m and l, x
	entries    [2]int
}

var pins = []pinned{
	{
		"detect", yolo26.Detection(80), 640,
		[5]int{2437552, 9609632, 20132032, 24363712, 54672216},
		[5]float64{5.4270, 21.0023, 67.8884, 90.0504, 201.6605},
		[5]int{2334752, 9251680, 19533440, 23765120, 53377116},
		[2]int{369, 453},
		[2]int{714, 882},
	},
	{
		"segment", yolo26.Segmentation(80), 640,
		[5]int{2717284, 10665440, 23374848, 27606528, 61899656},
		[5]float64{8.9974, 34.9670, 122.7223, 144.8843, 324.5766},
		[5]int{2559394, 10121192, 22460680, 26692360, 59932636},
		[2]int{473, 557},
		[2]int{902, 1070},
	},
	{
		"keypoints", yolo26.Pose(80, 17), 640,
		[5]int{2548204, 9983184, 20752880, 24984560, 56000752},
		[5]float64{5.5508, 21.3892, 68.9285, 91.0905, 203.8568},
		[5]int{2390078, 9438456, 19843864, 24075544, 54041384},
		[2]int{453, 537},
		[2]int{870, 1038},
	},
	{
		"obb", yolo26.Oriented(15), 1024,
		[5]int{2563976, 10120782, 21009774, 25241454, 56652248},
		[5]float64{14.6771, 55.9375, 178.3644, 235.5899, 526.5584},
		[5]int{2397964, 9507255, 19972311, 24203991, 54367132},
		[2]int{453, 537},
		[2]int{870, 1038},
	},
}

func TestCountsEqualTheSpecification(t *testing.T) {
	for _, pin := range pins {
		for i, scale := range yolo26.Scales()[:5] {
			t.Run(pin.name+"/"+scale.Name, func(t *testing.T) {
				s := build(t, scale, pin.task)
				deep := 0
				if scale.Depth == 1 {
					deep = 1
				}
				require.Equal(t, pin.parameters[i], inspect.Parameters(s))
				require.Equal(t, pin.tensors[deep], inspect.ParameterTensors(s))
				require.Equal(t, pin.entries[deep], inspect.StateEntries(s))

				deployed := inspect.Deployed(s)
				require.Equal(t, pin.deployed[i], inspect.Parameters(deployed))
				work, err := inspect.ForwardWork(deployed, ir.Sizes{Batch: 1, Height: pin.size, Width: pin.size})
				require.NoError(t, err)
				require.InDelta(t, pin.gflops[i], work.GFLOPs(), 5e-5, "four decimals are pinned")
			})
		}
	}
}

func TestEachClassAddsItsParameters(t *testing.T) {
	perClass := [5]int{302, 600, 856, 856, 1286}
	levelWidth := [5]int{64, 128, 256, 256, 384}
	person := [5]int{2524346, 9935784, 20685256, 24916936, 55899158}
	for i, scale := range yolo26.Scales()[:5] {
		count := func(task yolo26.Task) int { return inspect.Parameters(build(t, scale, task)) }
		require.Equal(t, 3*perClass[i], count(yolo26.Oriented(18))-count(yolo26.Oriented(15)), scale.Name)
		require.Equal(t, perClass[i]+levelWidth[i]+1, count(yolo26.Segmentation(2))-count(yolo26.Segmentation(1)), scale.Name)
		require.Equal(t, person[i], count(yolo26.Pose(1, 17)), scale.Name)
	}
}

func TestBothBranchesReadTheSameLevelsAndShareNothing(t *testing.T) {
	s := build(t, yolo26.Test, yolo26.Oriented(15))
	count := map[string]int{}
	for _, p := range s.Parameters {
		for _, branch := range []string{"head.o2o.", "head.o2m."} {
			if len(p.Name) > len(branch) && p.Name[:len(branch)] == branch {
				count[branch]++
			}
		}
	}
	require.Equal(t, map[string]int{"head.o2o.": 126, "head.o2m.": 126}, count)
	var outputs []string
	for _, o := range s.Outputs {
		outputs = append(outputs, o.Name)
	}
	require.Equal(t, []string{"o2m_cls", "o2m_box", "o2m_angle", "o2o_cls", "o2o_box", "o2o_angle"}, outputs)
}

func TestATaskWithoutClassesIsOneMistake(t *testing.T) {
	for _, test := range []struct {
		task yolo26.Task
		want string
	}{
		{yolo26.Detection(0), "a head with 0 classes; give at least 1"},
		{yolo26.Oriented(-2), "a head with -2 classes; give at least 1"},
		{yolo26.Pose(1, -1), "a head with -1 keypoints; give 0 or more"},
		{yolo26.Task{Classes: 1, Coefficients: -1}, "a head with -1 mask coefficients; give 0 or more"},
	} {
		_, err := network(yolo26.Nano, test.task).Build()
		var mistakes stage.Mistakes
		require.ErrorAs(t, err, &mistakes)
		require.Len(t, mistakes, 1)
		require.ErrorContains(t, err, test.want)
		require.Regexp(t, `tasks/yolo26/head\.go:\d+: stage network: `, err.Error())
	}
}

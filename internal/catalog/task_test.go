package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/catalog"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/trainer"
)

const (
	side    = 64
	anchors = 84
	classes = 2
	points  = 3
)

func settings(t *testing.T, task string, change func(*config.Settings)) *config.Settings {
	t.Helper()
	s, err := config.Defaults(task)
	require.NoError(t, err)
	s.Model.Classes, s.Model.Keypoints = classes, points
	if change != nil {
		change(s)
	}
	return s
}

// outputsOf are outputs of every task's names, none of them zero.
func outputsOf() trainer.Outputs[float64] {
	out := trainer.Outputs[float64]{"prototypes": make([]float64, 32*side*side/16), "semantic": make([]float64, classes*side*side/64)}
	for _, branch := range []string{"o2m_", "o2o_"} {
		for name, channels := range map[string]int{"cls": classes, "box": 4, "angle": 1, "coeff": 32, "keypoint": 4 * points} {
			out[branch+name] = make([]float64, anchors*channels)
		}
	}
	for _, values := range out {
		for i := range values {
			values[i] = 1 + float64(i%7)/10
		}
	}
	return out
}

func batch(empty bool) *data.Batch {
	b := &data.Batch{N: 1, H: side, W: side, Targets: make([]data.Target, 1)}
	if empty {
		return b
	}
	b.Targets[0] = data.Target{
		Labels: []int{1}, Boxes: []geometry.Box{{X1: 10, Y1: 12, X2: 40, Y2: 44}},
		Rotated:   []geometry.RotatedBox{{CenterX: 25, CenterY: 28, Width: 32, Height: 30, Angle: 0.3}},
		Polygons:  [][]geometry.Point{{{X: 10, Y: 12}, {X: 40, Y: 12}, {X: 25, Y: 44}}},
		Keypoints: [][]geometry.Point{{{X: 12, Y: 14}, {X: 30, Y: 30}, {X: 20, Y: 40}}}, Visibility: [][]uint8{{2, 1, 0}},
	}
	return b
}

func objectiveOf(t *testing.T, s *config.Settings) trainer.Objective[float64] {
	t.Helper()
	task, err := catalog.Task[float64](s, nil)
	require.NoError(t, err)
	objective := task.Objective
	if trained, has := objective.(trainer.Trained[float64]); has {
		var values [][]float64
		for _, p := range trained.Parameters() {
			n := 1
			for _, d := range p.Shape {
				n *= d
			}
			values = append(values, make([]float64, n))
		}
		if len(values) > 0 {
			objective = trained.With(values)
		}
	}
	_, replaced := objective.Replaced()
	require.False(t, replaced)
	return objective
}

// The names of terms, outputs and parameters of every task, and which are absent
// in an empty batch.
func TestEveryTask(t *testing.T) {
	for task, want := range map[string]struct {
		terms, cotangents, absent []string
		captured                  map[string]trainer.CaptureOption
	}{
		"detect": {[]string{"cls", "box", "l1"}, []string{"cls", "box"}, nil, nil},
		"obb":    {[]string{"cls", "box", "l1", "rbox", "rl1", "angle"}, []string{"cls", "box", "angle"}, nil, nil},
		"pose": {[]string{"cls", "box", "l1", "keypoint", "oks"}, []string{"cls", "box", "keypoint"}, []string{"keypoint"},
			map[string]trainer.CaptureOption{"features": trainer.CaptureNetwork, "head": trainer.CaptureFull}},
		"segment": {[]string{"cls", "box", "l1", "mask"}, []string{"cls", "box", "coeff"}, []string{"coeff"},
			map[string]trainer.CaptureOption{
				"features": trainer.CaptureNetwork, "head": trainer.CaptureFull, "coefficients": trainer.CaptureSegmentHeads,
				"fusion": trainer.CaptureSegmentHeads, "prototypes": trainer.CaptureSegmentHeads, "semantic": trainer.CaptureSegmentHeads,
			}},
	} {
		t.Run(task, func(t *testing.T) {
			s := settings(t, task, nil)
			made, err := catalog.Task[float64](s, nil)
			require.NoError(t, err)
			require.Equal(t, want.captured, made.CapturedBy)
			objective := objectiveOf(t, s)
			for _, empty := range []bool{false, true} {
				loss, err := objective.Loss(outputsOf(), batch(empty), 0.7)
				require.NoError(t, err)
				require.Len(t, loss.Branches, 2)
				for i, branch := range []string{"o2m", "o2o"} {
					require.Equal(t, branch, loss.Branches[i].Name)
					var terms []string
					for _, term := range loss.Branches[i].Terms {
						terms = append(terms, term.Name)
					}
					require.Equal(t, want.terms, terms)
					require.Equal(t, empty, loss.Branches[i].Positives == 0)
					for _, name := range want.cotangents {
						absent := empty && len(want.absent) > 0 && name == want.absent[0]
						require.Equal(t, absent, loss.Cotangents[branch+"_"+name] == nil, branch+"_"+name)
					}
				}
				require.Equal(t, task == "segment" && !empty, loss.Cotangents["prototypes"] != nil)
				require.Equal(t, task == "segment", loss.Cotangents["semantic"] != nil)
				require.Len(t, loss.Gradients, map[string]int{"pose": 42}[task])
			}
		})
	}
}

// Each gain of the settings reaches its term.
func TestGainsReachTheirTerms(t *testing.T) {
	silence := func(s *config.Settings) {
		s.Loss.BoxGain, s.Loss.ClsGain, s.Loss.L1Gain, s.Loss.MaskGain, s.Loss.SemanticGain = 0, 0, 0, 0, 0
		s.Loss.AngleGain, s.Loss.KeypointGain, s.Loss.OKSGain = 0, 0, 0
	}
	for _, c := range []struct {
		task, term string
		change     func(*config.Settings)
	}{
		{"detect", "cls", func(s *config.Settings) { s.Loss.ClsGain = 3 }},
		{"detect", "box", func(s *config.Settings) { s.Loss.BoxGain = 3 }},
		{"pose", "l1", func(s *config.Settings) { s.Loss.L1Gain = 3 }},
		{"pose", "keypoint", func(s *config.Settings) { s.Loss.KeypointGain = 3 }},
		{"pose", "oks", func(s *config.Settings) { s.Loss.OKSGain = 3 }},
		{"segment", "mask", func(s *config.Settings) { s.Loss.MaskGain = 3 }},
		{"segment", "semantic", func(s *config.Settings) { s.Loss.SemanticGain = 3 }},
		{"obb", "rbox", func(s *config.Settings) { s.Loss.BoxGain = 3 }},
		{"obb", "angle", func(s *config.Settings) { s.Loss.AngleGain = 3 }},
	} {
		loss, err := objectiveOf(t, settings(t, c.task, func(s *config.Settings) { silence(s); c.change(s) })).Loss(outputsOf(), batch(false), 0.7)
		require.NoError(t, err)
		want := 0.0
		for _, term := range loss.Terms() {
			switch term.Name {
			case "o2m_" + c.term:
				want += 3 * 0.7 * term.Value
			case "o2o_" + c.term:
				want += 3 * 0.3 * term.Value
			case c.term:
				want += 3 * term.Value
			}
		}
		require.NotZero(t, want, c.term)
		require.InEpsilon(t, want, loss.Total, 1e-12, c.term)
	}
}

func TestTasksThatCannotBe(t *testing.T) {
	for want, s := range map[string]*config.Settings{
		`task is "sort"; use detect, obb, pose or segment`: settings(t, "detect", func(s *config.Settings) { s.Task = "sort" }),
		"box gain of -1":                      settings(t, "detect", func(s *config.Settings) { s.Loss.BoxGain = -1 }),
		"keypoint loss form \"\" does":        settings(t, "pose", func(s *config.Settings) { s.Loss.KeypointLoss = "" }),
		"0 keypoints of an object":            settings(t, "pose", func(s *config.Settings) { s.Model.Keypoints = 0 }),
		"mask gain of -1":                     settings(t, "segment", func(s *config.Settings) { s.Loss.MaskGain = -1 }),
		`rotated loss form "" does not exist`: settings(t, "obb", func(s *config.Settings) { s.Loss.RotatedIoUForm = "" }),
	} {
		_, err := catalog.Task[float32](s, nil)
		require.ErrorContains(t, err, want)
	}
}

func TestLaplaceHasNoParameters(t *testing.T) {
	s := settings(t, "pose", func(s *config.Settings) { s.Loss.KeypointLoss = "laplace_nll" })
	task, err := catalog.Task[float64](s, nil)
	require.NoError(t, err)
	require.Empty(t, task.Objective.(trainer.Trained[float64]).Parameters())
	loss, err := task.Objective.Loss(outputsOf(), batch(false), 0.5)
	require.NoError(t, err)
	require.Empty(t, loss.Gradients)
}

func TestBatchesThatDoNotFit(t *testing.T) {
	task, err := catalog.Task[float64](settings(t, "pose", nil), nil)
	require.NoError(t, err)
	_, err = task.Objective.Loss(outputsOf(), batch(false), 0.5)
	require.ErrorContains(t, err, "the keypoint objective has no flow; evaluate what With returns")

	without := batch(false)
	without.Targets[0].Polygons = nil
	_, err = objectiveOf(t, settings(t, "segment", nil)).Loss(outputsOf(), without, 0.5)
	require.ErrorContains(t, err, "image 0: 1 instances with 0 rings")
}

// Masks of the loader are those that the objective would make.
func TestMasksOfTheLoader(t *testing.T) {
	objective := objectiveOf(t, settings(t, "segment", nil))
	want, err := objective.Loss(outputsOf(), batch(false), 0.5)
	require.NoError(t, err)
	made := batch(false)
	masks, err := data.InstanceMasks(made.Targets[0], side, side, side/4, side/4)
	require.NoError(t, err)
	made.Masks = append(made.Masks, masks)
	got, err := objective.Loss(outputsOf(), made, 0.5)
	require.NoError(t, err)
	require.Equal(t, want.Total, got.Total)
}

package golden

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/fuzz/allocation"
)

var update = flag.Bool("update", false, "write the reference files of the tests again")

const (
	casePath       = "testdata/case.json"
	trajectoryPath = "testdata/trajectory.json"
)

// ruleSample is a sample of a tensor filled with u.
func ruleSample(name string, shape ...int) *Sample {
	size := 1
	for _, d := range shape {
		size *= d
	}
	value := make([]float64, size)
	for i := range value {
		value[i] = NewRule(11).Stream(name).U(i)
	}
	return sampleOf(shape, value, 3)
}

func exampleCase() *Case {
	return &Case{
		Network:    Network{Task: "detect", Scale: "t", Classes: 4, Batch: 2, Height: 64, Width: 64, Seed: 11},
		Parameters: 12,
		Outputs:    map[string]*Sample{"o2m_cls": ruleSample("o2m_cls", 2, 4), "o2o_cls": ruleSample("o2o_cls", 2, 4)},

		ImageGradient: ruleSample("image", 1, 3, 2, 2),
		Gradients:     map[string]*Sample{"stem.conv.weight": ruleSample("stem.conv.weight", 3, 3, 1, 1)},
		Statistics:    map[string]*Sample{"stem.bn.running_mean": ruleSample("stem.bn.running_mean", 3)},
		EvalOutputs:   map[string]*Sample{"o2m_cls": ruleSample("eval", 2, 4)},
	}
}

// exampleTrajectory has an ordinary step and one with an absent gradient.
func exampleTrajectory() *trajectoryFile {
	s := *setting("segment")
	s.Epochs, s.Batches, s.OptimizerSteps, s.EmptySteps, s.EmptyImages = 1, []int{2, 1}, 2, []int{1}, [][2]int{{0, 1}}
	f := &trajectoryFile{Case: s, Sampled: map[string]*placement{}}
	sampled := func(name string, shape ...int) *values {
		v := ruleSample(name, shape...)
		f.Sampled[name] = &placement{v.Shape, v.Index}
		return &values{v.L2, v.Sum, v.Value}
	}
	for step, batch := range s.Batches {
		record := stepFile{Step: step, Batch: batch, LR: 0.01, Alpha: 0.8, Total: 3, Norm: 12}
		record.Terms.O2M, record.Terms.O2O = map[string]float64{"cls": 1}, map[string]float64{"cls": 2}
		record.Terms.Semantic = new(float64)
		record.Assigned.O2M, record.Assigned.O2O = make([][][2]int, batch), make([][][2]int, batch)
		record.MaskCells = new(int)
		var targets []Target
		for image := range batch {
			targets = append(targets, s.Target(step, image))
			record.Objects = append(record.Objects, len(targets[image].Labels))
		}
		f.Targets = append(f.Targets, targets)
		weight := sampled("stem.conv.weight", 3, 3, 1, 1)
		record.Gradient = map[string]*values{"stem.conv.weight": weight}
		if step == 1 {
			record.Gradient["stem.conv.weight"] = nil
		}
		record.After = stateFile{
			Parameter:  map[string]*values{"stem.conv.weight": weight},
			Momentum:   map[string]*values{"stem.conv.weight": nil},
			EMA:        map[string]*values{"stem.conv.weight": weight},
			Statistics: map[string]*values{"stem.bn.running_mean": sampled("stem.bn.running_mean", 3)},
		}
		f.Steps = append(f.Steps, record)
	}
	return f
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.MarshalIndent(value, "", " ")
	require.NoError(t, err)
	return append(data, '\n')
}

// The stored files are what the rule makes today; a change of the rule or the
// format shows here.
func TestStoredFilesFollowTheRule(t *testing.T) {
	for path, value := range map[string]any{casePath: exampleCase(), trajectoryPath: exampleTrajectory()} {
		want := encode(t, value)
		if *update {
			require.NoError(t, os.WriteFile(path, want, 0o644))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "run this test with -update after an intended change")
	}
}

func TestReadCase(t *testing.T) {
	got, err := ReadCase(casePath)
	require.NoError(t, err)
	require.Equal(t, exampleCase(), got)
}

func TestReadTrajectory(t *testing.T) {
	got, err := ReadTrajectory(trajectoryPath)
	require.NoError(t, err)
	require.Len(t, got.Steps, 2)
	require.Equal(t, ruleSample("stem.conv.weight", 3, 3, 1, 1), got.Steps[0].Gradient["stem.conv.weight"])
	require.Contains(t, got.Steps[1].Gradient, "stem.conv.weight")
	require.Nil(t, got.Steps[1].Gradient["stem.conv.weight"])
	require.Equal(t, map[string]float64{"cls": 2}, got.Steps[0].Terms.O2O)
	for step, images := range got.Targets {
		for image, want := range images {
			require.True(t, want.Equal(got.Setting.Target(step, image)))
		}
	}
}

func TestReadersRefuse(t *testing.T) {
	caseText, trajectoryText := string(encode(t, exampleCase())), string(encode(t, exampleTrajectory()))
	withoutParameter := exampleTrajectory()
	withoutParameter.Steps[0].After.Parameter["x"] = nil
	replaced := func(text, old, new string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, new, 1)
	}
	for name, test := range map[string]struct {
		trajectory bool
		text, want string
	}{
		"empty":             {false, "", "bad.json:1: not a reference file"},
		"syntax":            {false, "{\n\n!", "bad.json:3: not a reference file"},
		"unknown field":     {false, replaced(caseText, `"parameters"`, `"surprise"`), "surprise"},
		"wrong type":        {false, replaced(caseText, `"classes": 4`, `"classes": "4"`), "bad.json:5: not a reference file"},
		"trailing":          {false, caseText + "{}", "more follows its end"},
		"no outputs":        {false, replaced(caseText, `"outputs": {`, `"outputs": {}, "eval_outputs": {`), "outputs is empty"},
		"task":              {false, replaced(caseText, `"detect"`, `"classify"`), `task is "classify"`},
		"index":             {false, replaced(caseText, `"index": [`, `"index": [99999, `), "indices and"},
		"case as traject":   {true, caseText, "unknown field"},
		"huge image":        {true, replaced(trajectoryText, `"height": 96`, `"height": 1000000`), "height is 1000000"},
		"steps":             {true, replaced(trajectoryText, `"epochs": 1`, `"epochs": 2`), "must agree"},
		"step order":        {true, replaced(trajectoryText, `"step": 1`, `"step": 5`), "steps[1]: number"},
		"unsampled":         {true, replaced(trajectoryText, `"stem.bn.running_mean": {`, `"other": {`), "not listed under sampled"},
		"absent parameter":  {true, string(encode(t, withoutParameter)), `parameter: "x" has no sample`},
		"negative l2":       {false, replaced(caseText, `"l2": `, `"l2": -`), "negative l2"},
		"impossible shape":  {false, replaced(caseText, `"shape": [`, `"shape": [0, `), "is not a tensor's"},
		"overflowing shape": {false, replaced(caseText, `"shape": [`, `"shape": [4611686018427387904, `), "is not a tensor's"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.json")
			require.NoError(t, os.WriteFile(path, []byte(test.text), 0o600))
			var err error
			if test.trajectory {
				_, err = ReadTrajectory(path)
			} else {
				_, err = ReadCase(path)
			}
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, path)
		})
	}
	path := filepath.Join(t.TempDir(), "large.json")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, maximumFile+1))
	_, err := ReadCase(path)
	require.ErrorContains(t, err, "larger than")
}

func FuzzReadTrajectory(f *testing.F) {
	data, err := os.ReadFile(trajectoryPath)
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"case":{},"steps":[{}]}`))
	path := filepath.Join(f.TempDir(), "fuzz.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		allocation.AtMost(t, allocation.PerByte, len(data), func() {
			trajectory, err := ReadTrajectory(path)
			if err == nil {
				trajectory.Setting.Target(0, 0)
			}
		})
	})
}

// FuzzReadCase reads single-pass cases. The samples of a case that is accepted
// can be taken from tensors of their shapes.
func FuzzReadCase(f *testing.F) {
	data, err := os.ReadFile(casePath)
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"case":{"task":"obb"},"outputs":{"x":null}}`))
	path := filepath.Join(f.TempDir(), "fuzz.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		var c *Case
		var err error
		allocation.AtMost(t, allocation.PerByte, len(data), func() { c, err = ReadCase(path) })
		if err != nil {
			require.ErrorContains(t, err, path)
			return
		}
		for _, sample := range c.Gradients {
			require.Positive(t, sample.Size())
			require.Len(t, sample.Value, len(sample.Index))
			require.Less(t, slices.Max(sample.Index), sample.Size())
		}
	})
}

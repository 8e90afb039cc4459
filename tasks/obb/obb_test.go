package obb_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/tasks/obb"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// The lists in testdata come from an implementation of the network in another
// language: names, shapes and order are what checkpoints interchange.
func TestStateEntriesAtTestScale(t *testing.T) {
	s, err := obb.Define(yolo26.Test, obb.Classes).Build()
	require.NoError(t, err)
	var parameters, statistics []string
	for _, p := range s.Parameters {
		parameters = append(parameters, entry(p.Name, p.Shape))
	}
	counters := 0
	for _, b := range s.Buffers {
		if strings.HasSuffix(b.Name, ".num_batches_tracked") {
			require.Equal(t, ir.Counter, b.Elem)
			require.Empty(t, b.Shape)
			counters++
			continue
		}
		statistics = append(statistics, entry(b.Name, b.Shape))
	}
	require.Equal(t, lines(t, "testdata/parameters.tsv"), parameters)
	require.Equal(t, lines(t, "testdata/statistics.tsv"), statistics)
	require.Equal(t, len(statistics)/2, counters)
}

func entry(name string, shape []int) string {
	return name + "\t" + strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", "x")
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestPorts(t *testing.T) {
	s, err := obb.Define(yolo26.Nano, 7, stage.Differentiable()).Build()
	require.NoError(t, err)
	require.Equal(t, ir.Multiple{Height: 32, Width: 32}, s.Multiple)
	require.Len(t, s.Inputs, 1)
	require.Equal(t, "image", s.Inputs[0].Name)
	require.True(t, s.Inputs[0].Differentiable)

	anchors, err := ir.ParseDim("21*H*W/1024")
	require.NoError(t, err)
	type port struct {
		name     string
		width    int
		optional bool
	}
	want := []port{
		{"o2m_cls", 7, false}, {"o2m_box", 4, false}, {"o2m_angle", 1, true},
		{"o2o_cls", 7, false}, {"o2o_box", 4, false}, {"o2o_angle", 1, true},
	}
	require.Len(t, s.Outputs, len(want))
	for i, o := range s.Outputs {
		require.Equal(t, want[i], port{o.Name, want[i].width, o.Optional})
		require.True(t, ir.EqualShapes([]ir.Dim{ir.N, anchors, ir.Const(want[i].width)}, s.Tensor(o.Tensor).Shape), o.Name)
	}

	s, err = obb.Network.Build()
	require.NoError(t, err)
	require.False(t, s.Inputs[0].Differentiable)
}

func TestNoClassesIsAMistake(t *testing.T) {
	_, err := obb.Define(yolo26.Nano, 0).Build()
	require.ErrorContains(t, err, "a head with 0 classes; give at least 1")
}

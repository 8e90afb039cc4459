package detect_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/tasks/detect"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

func TestPorts(t *testing.T) {
	s, err := detect.Define(yolo26.Test, 7, stage.Differentiable()).Build()
	require.NoError(t, err)
	require.Equal(t, ir.Multiple{Height: 32, Width: 32}, s.Multiple)
	require.Len(t, s.Inputs, 1)
	require.True(t, s.Inputs[0].Differentiable)
	ports := map[string]string{}
	for _, o := range s.Outputs {
		require.False(t, o.Optional, o.Name)
		ports[o.Name] = ir.ShapeText(s.Tensor(o.Tensor).Shape)
	}
	require.Equal(t, map[string]string{
		"o2m_cls": "(N, 21*H*W/1024, 7)", "o2m_box": "(N, 21*H*W/1024, 4)",
		"o2o_cls": "(N, 21*H*W/1024, 7)", "o2o_box": "(N, 21*H*W/1024, 4)",
	}, ports)
}

// Nothing of this task is ever absent, so one backward program serves all steps.
func TestOneBackwardProgram(t *testing.T) {
	s, err := detect.Network.Build()
	require.NoError(t, err)
	plan, err := pass.Run(s, nil)
	require.NoError(t, err)
	require.Len(t, plan.Backward, 1)
	require.Len(t, plan.Backward[0].Parameters, len(plan.Parameters))
}

func TestNoClassesIsAMistake(t *testing.T) {
	_, err := detect.Define(yolo26.Nano, 0).Build()
	require.ErrorContains(t, err, "a head with 0 classes; give at least 1")
}

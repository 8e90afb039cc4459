package segment_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/tasks/segment"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

func TestStagesAndPorts(t *testing.T) {
	type ports struct{ inputs, outputs map[string]string }
	got := map[string]ports{}
	var order []string
	for _, d := range segment.Define(yolo26.Test, 3) {
		s, err := d.Build()
		require.NoError(t, err)
		p := ports{map[string]string{}, map[string]string{}}
		for _, in := range s.Inputs {
			p.inputs[in.Name] = ir.ShapeText(s.Tensor(in.Tensor).Shape)
			require.Equal(t, in.Name != "image", in.Differentiable, in.Name)
		}
		for _, out := range s.Outputs {
			p.outputs[out.Name] = ir.ShapeText(s.Tensor(out.Tensor).Shape)
			require.Equal(t, out.Name == "semantic", out.TrainingOnly, out.Name)
		}
		got[s.Name] = p
		order = append(order, s.Name)
	}
	levels := map[string]string{"n3": "(N, 32, H/8, W/8)", "n4": "(N, 64, H/16, W/16)", "n5": "(N, 128, H/32, W/32)"}
	fused := map[string]string{"fused": "(N, 32, H/8, W/8)"}
	require.Equal(t, map[string]ports{
		"features": {map[string]string{"image": "(N, 3, H, W)"}, levels},
		"head": {levels, map[string]string{
			"o2m_cls": "(N, 21*H*W/1024, 3)", "o2m_box": "(N, 21*H*W/1024, 4)",
			"o2o_cls": "(N, 21*H*W/1024, 3)", "o2o_box": "(N, 21*H*W/1024, 4)",
		}},
		"coefficients": {levels, map[string]string{"o2m_coeff": "(N, 21*H*W/1024, 32)", "o2o_coeff": "(N, 21*H*W/1024, 32)"}},
		"fusion":       {levels, fused},
		"prototypes":   {fused, map[string]string{"prototypes": "(N, 32, H/4, W/4)"}},
		"semantic":     {fused, map[string]string{"semantic": "(N, 3, H/8, W/8)"}},
	}, got)
	require.Equal(t, []string{"features", "head", "coefficients", "fusion", "prototypes", "semantic"}, order)
}

// Either branch may leave its coefficients without a cotangent; the stems of the
// other have gradients all the same, and only they.
func TestPresencePatternsOfTheCoefficients(t *testing.T) {
	s, err := segment.DefineCoefficients(yolo26.Test).Build()
	require.NoError(t, err)
	plan, err := pass.Run(s, nil)
	require.NoError(t, err)
	require.Len(t, plan.Backward, 3)
	half := len(plan.Parameters) / 2
	for present, want := range map[string]int{"o2m_coeff": half, "o2o_coeff": half} {
		at, found := plan.Pattern([]string{present})
		require.True(t, found)
		require.Len(t, plan.Backward[at].Parameters, want)
		require.Contains(t, plan.Backward[at].Parameters[0], present[:3])
	}
}

func TestNoClassesIsAMistake(t *testing.T) {
	_, err := segment.DefineHead(yolo26.Nano, 0).Build()
	require.ErrorContains(t, err, "a head with 0 classes; give at least 1")
}

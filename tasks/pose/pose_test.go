package pose_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/tasks/pose"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

func TestPorts(t *testing.T) {
	definitions := pose.Define(yolo26.Test, 2, 5)
	require.Len(t, definitions, 2)
	ports := map[string]string{}
	for _, d := range definitions {
		s, err := d.Build()
		require.NoError(t, err)
		require.Equal(t, ir.Multiple{Height: 32, Width: 32}, s.Multiple)
		for _, p := range append(s.Inputs, s.Outputs...) {
			ports[s.Name+" "+p.Name] = ir.ShapeText(s.Tensor(p.Tensor).Shape)
			require.Equal(t, strings.HasSuffix(p.Name, "_keypoint"), p.Optional, p.Name)
		}
	}
	require.Equal(t, map[string]string{
		"features image": "(N, 3, H, W)",
		"features n3":    "(N, 32, H/8, W/8)", "features n4": "(N, 64, H/16, W/16)", "features n5": "(N, 128, H/32, W/32)",
		"head n3": "(N, 32, H/8, W/8)", "head n4": "(N, 64, H/16, W/16)", "head n5": "(N, 128, H/32, W/32)",
		"head o2m_cls": "(N, 21*H*W/1024, 2)", "head o2m_box": "(N, 21*H*W/1024, 4)", "head o2m_keypoint": "(N, 21*H*W/1024, 20)",
		"head o2o_cls": "(N, 21*H*W/1024, 2)", "head o2o_box": "(N, 21*H*W/1024, 4)", "head o2o_keypoint": "(N, 21*H*W/1024, 20)",
	}, ports)
}

// Without keypoint cotangents the keypoint stems have no gradient at all, and
// every other parameter of the head has one.
func TestPresencePatterns(t *testing.T) {
	s, err := pose.DefineHead(yolo26.Test, 1, 3).Build()
	require.NoError(t, err)
	plan, err := pass.Run(s, nil)
	require.NoError(t, err)
	require.Len(t, plan.Backward, 4)
	for _, test := range []struct{ present, without []string }{
		{[]string{"o2m_cls", "o2m_box", "o2m_keypoint", "o2o_cls", "o2o_box", "o2o_keypoint"}, nil},
		{[]string{"o2m_cls", "o2m_box", "o2o_cls", "o2o_box"}, []string{"head.o2m.keypoint_stems.", "head.o2o.keypoint_stems."}},
		{[]string{"o2m_cls", "o2m_box", "o2m_keypoint", "o2o_cls", "o2o_box"}, []string{"head.o2o.keypoint_stems."}},
	} {
		at, found := plan.Pattern(test.present)
		require.True(t, found, test.present)
		var want []string
		for _, p := range plan.Parameters {
			absent := false
			for _, prefix := range test.without {
				absent = absent || strings.HasPrefix(p.Name, prefix)
			}
			if !absent {
				want = append(want, p.Name)
			}
		}
		require.Equal(t, want, plan.Backward[at].Parameters)
		require.Equal(t, []string{"n3", "n4", "n5"}, plan.Backward[at].Inputs)
	}
}

func TestNoPointsIsAMistake(t *testing.T) {
	_, err := pose.DefineHead(yolo26.Nano, 1, 0).Build()
	require.ErrorContains(t, err, "a keypoint head without keypoints; give at least 1")
}

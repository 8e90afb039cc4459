package optim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/generated/optimizer/detect"
	"github.com/reprise-ml/reprise/generated/optimizer/obb"
	"github.com/reprise-ml/reprise/generated/optimizer/pose"
	"github.com/reprise-ml/reprise/generated/optimizer/segment"
	"github.com/reprise-ml/reprise/internal/networks"
	testdetect "github.com/reprise-ml/reprise/internal/testscale/optimizer/detect"
	testobb "github.com/reprise-ml/reprise/internal/testscale/optimizer/obb"
	testpose "github.com/reprise-ml/reprise/internal/testscale/optimizer/pose"
	testsegment "github.com/reprise-ml/reprise/internal/testscale/optimizer/segment"
)

// The stage that a fit makes for a shipped network is the one whose kernels are
// generated: by its digest the device finds them.
func TestGeneratedOptimizersAreThoseOfTheNetworks(t *testing.T) {
	for want, digest := range map[networks.Want]string{
		{Task: "detect", Scale: "n", Classes: 80}:             detect.OptimizerDigest,
		{Task: "obb", Scale: "n", Classes: 15}:                obb.OptimizerDigest,
		{Task: "pose", Scale: "n", Classes: 1, Keypoints: 17}: pose.OptimizerDigest,
		{Task: "segment", Scale: "n", Classes: 80}:            segment.OptimizerDigest,
		{Task: "detect", Scale: "t", Classes: 4}:              testdetect.OptimizerDigest,
		{Task: "obb", Scale: "t", Classes: 4}:                 testobb.OptimizerDigest,
		{Task: "pose", Scale: "t", Classes: 4, Keypoints: 17}: testpose.OptimizerDigest,
		{Task: "segment", Scale: "t", Classes: 4}:             testsegment.OptimizerDigest,
	} {
		found, err := networks.Find(want)
		require.NoError(t, err)
		var shapes [][]int
		for _, load := range found {
			plan, err := load()
			require.NoError(t, err)
			for _, p := range plan.Parameters {
				shapes = append(shapes, p.Shape)
			}
		}
		built, err := planOf("optimizer", 5, shapes)
		require.NoError(t, err)
		require.Equal(t, digest, built.Digest, "%v: run go generate ./...", want)
	}
}

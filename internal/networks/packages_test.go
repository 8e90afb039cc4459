package networks

import (
	"github.com/reprise-ml/reprise/generated/detect"
	"github.com/reprise-ml/reprise/generated/obb"
	"github.com/reprise-ml/reprise/generated/pose"
	"github.com/reprise-ml/reprise/generated/segment"
	testdetect "github.com/reprise-ml/reprise/internal/testscale/detect"
	testobb "github.com/reprise-ml/reprise/internal/testscale/obb"
	testpose "github.com/reprise-ml/reprise/internal/testscale/pose"
	testsegment "github.com/reprise-ml/reprise/internal/testscale/segment"
)

// packages lists the generated packages that come with the project: the plans
// of their stages by name.
func packages() map[Want]map[string]Plan {
	return map[Want]map[string]Plan{
		{Task: "detect", Scale: "n", Classes: 80}:             {"network": detect.Plan},
		{Task: "obb", Scale: "n", Classes: 15}:                {"network": obb.Plan},
		{Task: "pose", Scale: "n", Classes: 1, Keypoints: 17}: {"features": pose.FeaturesPlan, "head": pose.HeadPlan},
		{Task: "detect", Scale: "t", Classes: 4}:              {"network": testdetect.Plan},
		{Task: "obb", Scale: "t", Classes: 4}:                 {"network": testobb.Plan},
		{Task: "pose", Scale: "t", Classes: 4, Keypoints: 17}: {"features": testpose.FeaturesPlan, "head": testpose.HeadPlan},
		{Task: "segment", Scale: "n", Classes: 80}: {
			"features": segment.FeaturesPlan, "head": segment.HeadPlan, "coefficients": segment.CoefficientsPlan,
			"fusion": segment.FusionPlan, "prototypes": segment.PrototypesPlan, "semantic": segment.SemanticPlan,
		},
		{Task: "segment", Scale: "t", Classes: 4}: {
			"features": testsegment.FeaturesPlan, "head": testsegment.HeadPlan, "coefficients": testsegment.CoefficientsPlan,
			"fusion": testsegment.FusionPlan, "prototypes": testsegment.PrototypesPlan, "semantic": testsegment.SemanticPlan,
		},
	}
}

package scaffold

// definition is one stage of a task: the variable in the new module, the call
// that makes it, and the function of the generated package that loads its plan.
type definition struct{ Variable, Call, Plan string }

// definitions lists the stages of each task in the order in which they run;
// SCALE stands for the scale.
var definitions = map[string][]definition{
	"detect": {{"Network", "detect.Define(SCALE, Classes)", "Plan"}},
	"obb":    {{"Network", "obb.Define(SCALE, Classes)", "Plan"}},
	"pose": {
		{"Features", "yolo26.Features(SCALE)", "FeaturesPlan"},
		{"Head", "pose.DefineHead(SCALE, Classes, Points)", "HeadPlan"},
	},
	"segment": {
		{"Features", "yolo26.Features(SCALE)", "FeaturesPlan"},
		{"Head", "segment.DefineHead(SCALE, Classes)", "HeadPlan"},
		{"Coefficients", "segment.DefineCoefficients(SCALE)", "CoefficientsPlan"},
		{"Fusion", "segment.DefineFusion(SCALE)", "FusionPlan"},
		{"Prototypes", "segment.DefinePrototypes(SCALE)", "PrototypesPlan"},
		{"Semantic", "segment.DefineSemantic(SCALE, Classes)", "SemanticPlan"},
	},
}

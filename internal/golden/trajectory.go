package golden

// Trajectory is a short training run: every step with its losses, assignment,
// gradients and the state after it.
type Trajectory struct {
	Setting Setting
	Targets [][]Target // by step and image, equal to Setting.Target
	Steps   []Step
}

// Setting says what a trajectory was made with.
type Setting struct {
	Task      string `json:"task"`
	Scale     string `json:"scale"`
	Seed      uint64 `json:"seed"`
	Classes   int    `json:"classes"`
	Keypoints int    `json:"keypoints"` // pose: points of an object, otherwise 0
	Height    int    `json:"height"`
	Width     int    `json:"width"`
	Epochs    int    `json:"epochs"`
	Batches   []int  `json:"batches"` // images of every step of an epoch

	EmptySteps     []int    `json:"empty_steps"`     // no image has an object
	EmptyImages    [][2]int `json:"empty_images"`    // step and image without objects
	InvisibleSteps []int    `json:"invisible_steps"` // pose: every visibility is 0
	UncoveredSteps []int    `json:"uncovered_steps"` // obb: no anchor centre inside an object

	LR           float64 `json:"lr0"`
	LRF          float64 `json:"lrf"`
	WarmupEpochs float64 `json:"warmup_epochs"`
	AlphaInit    float64 `json:"alpha_init"`
	AlphaFinal   float64 `json:"alpha_final"`
	Clip         float64 `json:"clip"`
	Momentum     float64 `json:"momentum"`
	WeightDecay  float64 `json:"weight_decay"`
	EMADecay     float64 `json:"ema_decay"`
	EMATau       float64 `json:"ema_tau"`

	OptimizerSteps   int `json:"optimizer_steps"`
	Parameters       int `json:"parameters"`        // elements of all parameters
	ParameterTensors int `json:"parameter_tensors"` // number of parameters
}

// Branches holds one value for the one-to-many and one for the one-to-one
// branch.
type Branches[V any] struct {
	O2M V `json:"o2m"`
	O2O V `json:"o2o"`
}

// Terms are loss terms before gains and before blending, by name, and the
// semantic term of segment, which belongs to no branch.
type Terms struct {
	Branches[map[string]float64]
	Semantic *float64 `json:"semantic,omitempty"`
}

// Tensors counts parameters of a gradient presence and names the modules that
// they belong to.
type Tensors struct {
	Count    int      `json:"count"`
	Prefixes []string `json:"prefixes"`
}

// Step is one training step. Numbers count from 0.
type Step struct {
	Step    int
	Epoch   int
	Batch   int   // images
	Objects []int // by image
	LR      float64
	Alpha   float64

	Terms     Terms
	Total     float64
	Assigned  Branches[[][][2]int] // by image: anchor and object of every positive
	Positives Branches[int]
	Quality   Branches[float64] // sum of the alignment targets q
	Margin    Branches[float64] // smallest relative distance that decided the assignment
	MaskCells *int              // segment: set cells of all masks

	Absent      Tensors            // parameters without a gradient
	Zero        Tensors            // parameters with an all-zero gradient
	Gradient    map[string]*Sample // before clipping, nil: absent
	GradientAll Family             // before clipping, present gradients only
	Norm        float64            // global L2 norm before clipping

	Parameter  map[string]*Sample // after the step
	Momentum   map[string]*Sample // nil: no momentum yet
	EMA        map[string]*Sample
	Statistics map[string]*Sample
	All        AllFamilies
}

// AllFamilies describes the complete state after a step.
type AllFamilies struct {
	Parameter  Family `json:"parameter"`
	Momentum   Family `json:"momentum"`
	EMA        Family `json:"ema"` // parameters and running statistics
	Statistics Family `json:"statistics"`
}

// Package config holds the settings of a fit: one table of dotted keys, read
// from a YAML file and from command-line flags of the same names.
package config

// Settings are the resolved settings of a fit. Keys that do not apply to the
// task hold their defaults.
type Settings struct {
	Task    string // detect, obb, pose or segment
	Device  string // host or cuda
	Model   Model
	Data    Data
	Trainer Trainer
	Optim   Optim
	Loss    Loss
	Run     Run

	given map[string]bool // keys that the user set
}

// Given tells whether the user set a key, in the file or by a flag.
func (s *Settings) Given(key string) bool { return s.given[key] }

// Model describes the network and what of it is recorded.
type Model struct {
	Scale               string // n, s, m, l, x, or the test scale t
	Classes             int
	Keypoints           int // pose: points of an object
	CaptureNetwork      bool
	CaptureFull         bool // model.capture_network: full
	CaptureSegmentHeads bool
	CaptureOptimizer    bool
}

// Data describes the batches.
type Data struct {
	ImgSize   int // px, side of the square canvas
	BatchSize int // images
	Workers   int // goroutines that prepare images, 0: none beside the trainer
	Seed      uint64
	Cache     string // directory of decoded images, empty: none
	// SkipFaulty leaves out faulty images in place of refusing the data set.
	SkipFaulty bool

	Augmentation
}

// Augmentation describes the random changes of training images (YOLO26 paper,
// table S3). Scale, shear and the like are half-ranges about no change.
type Augmentation struct {
	Mosaic      float64 // probability
	CloseMosaic int     // last epochs, without mosaics
	AffineScale float64
	Translate   float64 // fraction of the canvas
	Degrees     float64
	Shear       float64 // degrees
	Mixup       float64 // probability
	CopyPaste   float64 // probability
	Hue         float64 // turns
	Saturation  float64
	Value       float64
	Flip        float64 // probability
}

// Trainer describes the loop.
type Trainer struct {
	MaxEpochs  int
	Precision  string // fp32, fp16, bf16 or float64
	Accumulate int    // micro-batches of one optimizer step

	AccumulateWarmupEpochs float64 // over which Accumulate grows from 1, 0: off

	GradientClip float64 // limit of the global gradient norm, 0: off
	Seed         uint64
	Strict       bool // a native call where a replay was asked for is an error
}

// Optim holds the constants of optimizer, learning rate and moving average
// (YOLO26 specification, training section 1).
type Optim struct {
	LR             float64
	LRF            float64
	WarmupEpochs   float64
	Momentum       float64
	WeightDecay    float64
	WMuon          float64
	WSGD           float64
	NSSteps        int
	EMADecay       float64
	EMATau         float64
	EMAUpdateEvery int
}

// Loss holds the gains and forms of the objective (YOLO26 specification,
// training section 1).
type Loss struct {
	BoxGain        float64
	ClsGain        float64
	L1Gain         float64
	MaskGain       float64
	SemanticGain   float64
	AngleGain      float64
	RotatedIoUForm string // hellinger or bhattacharyya
	KeypointGain   float64
	KeypointLoss   string // rle or laplace_nll
	OKSGain        float64
	Alpha          float64
	AlphaInit      float64
	AlphaFinal     float64
}

// Run says where results go and what is continued.
type Run struct {
	Dir       string // directory of checkpoints, logs and the resolved settings
	Overwrite bool   // a new fit may replace the checkpoint of an earlier one
	Resume    string // checkpoint to continue from, empty: a new fit
	Weights   string // checkpoint whose fitting weights a new fit starts from, empty: drawn
}

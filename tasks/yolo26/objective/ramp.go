package objective

import "fmt"

// Ramp is the weight alpha of the one-to-many branch over the epochs; the
// one-to-one branch has 1-alpha (YOLO26, arXiv:2606.03748, Eq. 2-3;
// specification, objective section 3.1).
type Ramp struct {
	// Start and End are the weights of the first and the last epoch.
	Start, End float64
	// Constant is the weight of a fit without a number of epochs.
	Constant float64
	// Epochs is the length of the fit; 0 means that it has none.
	Epochs int
}

// NewRamp returns the ramp of the paper, 0.8 to 0.1, or the constant 0.5 for
// epochs 0. A negative number of epochs is an error.
func NewRamp(epochs int) (Ramp, error) {
	if epochs < 0 {
		return Ramp{}, fmt.Errorf("a fit of %d epochs; give a number of epochs, or 0 for a fit without one", epochs)
	}
	return Ramp{Start: 0.8, End: 0.1, Constant: 0.5, Epochs: epochs}, nil
}

// Alpha returns the weight of the 0-based epoch, in [End, Start] for epoch >= 0.
// It is set once at the start of an epoch.
func (r Ramp) Alpha(epoch int) float64 {
	if r.Epochs == 0 {
		return r.Constant
	}
	progress := float64(epoch) / float64(max(r.Epochs-1, 1))
	return max(1-progress, 0)*(r.Start-r.End) + r.End
}

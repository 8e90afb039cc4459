package objective

import "fmt"

// Step is what both branches of one training step share.
type Step struct {
	Size  Size
	Grid  *Grid
	Truth *GroundTruth
}

// NewStep checks the weight of the one-to-many branch, the size and the labels
// and boxes of a batch. labels and boxes have one entry per image, empty for
// background.
func NewStep(size Size, labels [][]int, boxes [][]Box, alpha float64) (*Step, error) {
	if err := CheckAlpha(alpha); err != nil {
		return nil, err
	}
	grid, err := size.Grid()
	if err != nil {
		return nil, err
	}
	if len(labels) != size.Batch {
		return nil, fmt.Errorf("%d targets for a batch of %d images; give one per image, empty for background", len(labels), size.Batch)
	}
	truth, err := Pad(labels, boxes, size.Classes)
	if err != nil {
		return nil, err
	}
	return &Step{Size: size, Grid: grid, Truth: truth}, nil
}

// Lengths are the numbers of elements of the outputs of one branch.
type Lengths struct{ Class, Box int }

// Lengths counts the elements of the outputs.
func (d Dense[T]) Lengths() Lengths { return Lengths{len(d.Class), len(d.Box)} }

// CheckBranches compares the lengths of the outputs that every task has with
// their shapes.
func (s *Step) CheckBranches(many, one Lengths) error {
	for _, branch := range []struct {
		name string
		Lengths
	}{{"one-to-many", many}, {"one-to-one", one}} {
		if err := s.CheckOutput(branch.name+" class", branch.Class, s.Size.Classes); err != nil {
			return err
		}
		if err := s.CheckOutput(branch.name+" box", branch.Box, 4); err != nil {
			return err
		}
	}
	return nil
}

// CheckOutput compares the length of an output with images x anchors x channels.
func (s *Step) CheckOutput(name string, length, channels int) error {
	return CheckOutput(name, length, s.Size.Batch, s.Grid.Anchors(), channels)
}

// Options are the settings of the detection part of an objective.
type Options struct {
	Gains Gains
	// OneToMany and OneToOne assign anchors to objects in the two branches.
	OneToMany, OneToOne Assigner
}

// DefaultOptions returns the settings of the specification: gains 7.5, 0.5 and
// 6, top-k 10 and 7.
func DefaultOptions() Options {
	return Options{Gains: DefaultGains(), OneToMany: OneToManyAssigner(), OneToOne: OneToOneAssigner()}
}

// Validate reports a gain that is negative or not finite, and an assigner
// setting outside its range.
func (o Options) Validate() error {
	err := CheckGains(Gain{"box", o.Gains.Box}, Gain{"class", o.Gains.Class}, Gain{"L1", o.Gains.L1})
	if err != nil {
		return err
	}
	return CheckAssigners(o.OneToMany, o.OneToOne)
}

// Gain is a named weight of a term.
type Gain struct {
	Name  string
	Value float64
}

// CheckGains reports the first gain that is negative or not finite.
func CheckGains(gains ...Gain) error {
	for _, gain := range gains {
		if gain.Value < 0 || !Finite([]float64{gain.Value}) {
			return fmt.Errorf("%s gain of %v; give a finite number that is not negative", gain.Name, gain.Value)
		}
	}
	return nil
}

// CheckAssigners reports a setting of an assigner outside its range.
func CheckAssigners(many, one Assigner) error {
	if err := many.Validate(); err != nil {
		return fmt.Errorf("one-to-many branch: %w", err)
	}
	if err := one.Validate(); err != nil {
		return fmt.Errorf("one-to-one branch: %w", err)
	}
	return nil
}

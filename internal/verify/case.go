package verify

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/internal/golden"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// The kinds of tensors of a case.
const (
	KindOutput     = "output"
	KindGradient   = "gradient"
	KindImage      = "image gradient"
	KindStatistics = "statistics"
	KindEvaluation = "evaluation output"
	KindParameters = "parameters"

	// KindVanishing holds gradients that are zero but for rounding, such as
	// that of a shift in front of another batch norm. The reference holds the
	// rounding of the machine that made it, so their norm is judged against
	// that of all gradients together.
	KindVanishing = "vanishing gradient"
)

// vanishing is how small a reference gradient is, relative to the norm of all
// gradients, when it is zero but for rounding in float64.
const vanishing = 1e-13

// CaseTolerances are the relative L2 tolerances of a case by kind: 1e-9 in
// float64; in float32 1e-4 on outputs and statistics and 1e-3 on gradients. A
// vanishing gradient may be a few roundings of the whole gradient.
func CaseTolerances(precision device.Precision) map[string]float64 {
	output, gradient, rounding := 1e-4, 1e-3, 1e-7
	if precision == device.Float64 {
		output, gradient, rounding = 1e-9, 1e-9, vanishing
	}
	return map[string]float64{
		KindOutput: output, KindStatistics: output, KindEvaluation: output,
		KindGradient: gradient, KindImage: gradient, KindParameters: 0, KindVanishing: rounding,
	}
}

// Case compares one training pass and one evaluation pass of a network, given by
// the definitions of its stages in the order in which they run, with a
// reference. The image must be declared differentiable.
func Case[T device.Float](dev device.Device, c *golden.Case, definitions []*stage.Definition) (*golden.Comparison, error) {
	precision := precisionOf[T]()
	comparison := golden.NewComparison(golden.RelativeL2, CaseTolerances(precision))
	fit, err := open(dev, precision, definitions)
	if err != nil {
		return nil, err
	}
	defer fit.Close()
	run := caseRun[T]{reference: c, comparison: comparison, rule: golden.NewRule(c.Network.Seed), stages: fit.Stages()}
	if run.network, err = trainer.NewNetwork(run.stages); err != nil {
		return nil, err
	}
	if err := run.passes(); err != nil {
		return nil, err
	}
	return comparison, fit.Close()
}

// open loads definitions on a device in a fit that records nothing.
func open(dev device.Device, precision device.Precision, definitions []*stage.Definition) (*replay.Fit, error) {
	plans, err := plansOf(definitions)
	if err != nil {
		return nil, err
	}
	fit, err := replay.NewFit(dev, replay.Settings{Precision: precision})
	if err != nil {
		return nil, err
	}
	for _, plan := range plans {
		if _, err := fit.AddStage(plan, replay.StageOptions{}); err != nil {
			return nil, errors.Join(err, fit.Close())
		}
	}
	return fit, nil
}

// plansOf takes definitions through the passes.
func plansOf(definitions []*stage.Definition) ([]*ir.Stage, error) {
	var plans []*ir.Stage
	for _, d := range definitions {
		s, err := d.Build()
		if err != nil {
			return nil, err
		}
		plan, err := pass.Run(s, nil)
		if err != nil {
			return nil, err
		}
		plans = append(plans, plan)
	}
	return plans, nil
}

func precisionOf[T device.Float]() device.Precision {
	if _, double := any(T(0)).(float64); double {
		return device.Float64
	}
	return device.FP32
}

// caseRun is the comparison of one case.
type caseRun[T device.Float] struct {
	reference  *golden.Case
	comparison *golden.Comparison
	rule       golden.Rule
	stages     []*replay.Stage
	network    *trainer.Network
}

func (r *caseRun[T]) passes() error {
	n := r.reference.Network
	elements := 0
	for _, s := range r.stages {
		if err := fillState[T](s, golden.CaseWeights(n.Seed)); err != nil {
			return err
		}
		for _, p := range s.Plan().Parameters {
			elements += device.Elements(p.Shape)
		}
	}
	r.comparison.Scalar(KindParameters, "number of elements", float64(r.reference.Parameters), float64(elements))
	image := make([]T, n.Batch*3*n.Height*n.Width)
	golden.FillImage(r.rule, trainer.ImageInput, image)
	input := source(image, []int{n.Batch, 3, n.Height, n.Width})
	outputs, err := r.network.Forward(input)
	if err != nil {
		return err
	}
	if err := r.outputs(KindOutput, r.reference.Outputs, outputs); err != nil {
		return err
	}
	cotangents := map[string]replay.Source{}
	for name, out := range outputs {
		values := make([]T, device.Elements(out.Shape()))
		golden.FillCotangent(r.rule, name, values)
		cotangents[name] = source(values, out.Shape())
	}
	if err := r.network.Backward(cotangents); err != nil {
		return err
	}
	if err := r.afterBackward(); err != nil {
		return err
	}
	if outputs, err = r.network.Evaluate(input); err != nil {
		return err
	}
	return r.outputs(KindEvaluation, r.reference.EvalOutputs, outputs)
}

// outputs compares all outputs of a pass; there must be no other.
func (r *caseRun[T]) outputs(kind string, want map[string]*golden.Sample, got map[string]*replay.Tensor) error {
	r.comparison.Scalar(kind, "number of outputs", float64(len(want)), float64(len(got)))
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if err := r.tensor(kind, name, want[name], got[name]); err != nil {
			return err
		}
	}
	return nil
}

// afterBackward compares gradients and statistics.
func (r *caseRun[T]) afterBackward() error {
	d, presence := r.stages[0].InputGradient(0)
	if presence == replay.Absent {
		return fmt.Errorf("stage %s: the image has no gradient; define it with stage.Differentiable", r.stages[0].Plan().Name)
	}
	if err := r.tensor(KindImage, trainer.ImageInput, r.reference.ImageGradient, d); err != nil {
		return err
	}
	for _, s := range r.stages {
		for i, p := range s.Plan().Parameters {
			t, _ := s.Gradient(i)
			if err := r.gradient(p.Name, t); err != nil {
				return err
			}
		}
		for i, b := range s.Plan().Buffers {
			t := s.Buffer(i)
			if t.Type() == device.TypeInt64 {
				continue
			}
			if err := r.tensor(KindStatistics, b.Name, r.reference.Statistics[b.Name], t); err != nil {
				return err
			}
		}
	}
	return nil
}

// gradient compares the gradient of a parameter.
func (r *caseRun[T]) gradient(name string, t *replay.Tensor) error {
	want := r.reference.Gradients[name]
	if t == nil || want == nil || want.L2 > vanishing*r.norm() {
		return r.tensor(KindGradient, name, want, t)
	}
	values := make([]float64, device.Elements(t.Shape()))
	if err := t.ReadFloat64(values); err != nil {
		return err
	}
	squares := 0.0
	for _, v := range values {
		squares += v * v
	}
	r.comparison.Scalar(KindVanishing, name, r.norm(), r.norm()+math.Sqrt(squares))
	return nil
}

// norm is the L2 norm of all gradients of the reference.
func (r *caseRun[T]) norm() float64 {
	squares := 0.0
	for _, g := range r.reference.Gradients {
		squares += g.L2 * g.L2
	}
	return math.Sqrt(squares)
}

func (r *caseRun[T]) tensor(kind, name string, want *golden.Sample, t *replay.Tensor) error {
	if t == nil {
		golden.Tensor[T](r.comparison, kind, name, want, nil, nil)
		return nil
	}
	values := make([]T, device.Elements(t.Shape()))
	if err := device.Read(t, values); err != nil {
		return err
	}
	golden.Tensor(r.comparison, kind, name, want, t.Shape(), values)
	return nil
}

// fillState writes the reference weights and statistics of a stage.
func fillState[T device.Float](s *replay.Stage, weights golden.Weights) error {
	plan := s.Plan()
	write := func(name string, shape []int, t *replay.Tensor) error {
		values := make([]T, device.Elements(shape))
		if err := golden.Fill(weights, name, shape, values); err != nil {
			return err
		}
		return device.Write(t, values)
	}
	for i, p := range plan.Parameters {
		if err := write(p.Name, p.Shape, s.Parameter(i)); err != nil {
			return err
		}
	}
	for i, b := range plan.Buffers {
		if t := s.Buffer(i); t.Type() != device.TypeInt64 {
			if err := write(b.Name, b.Shape, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func source[T device.Float](values []T, shape []int) replay.Source {
	switch v := any(values).(type) {
	case []float32:
		return replay.Float32s(v, shape...)
	case []float64:
		return replay.Float64s(v, shape...)
	}
	panic("unreachable: Float has two members")
}

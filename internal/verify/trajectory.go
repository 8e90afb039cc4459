package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/golden"
	"github.com/reprise-ml/reprise/internal/optim"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// The kinds of numbers of a trajectory, beside those of a case.
const (
	KindSchedule  = "schedule"
	KindTerm      = "term"
	KindAssigned  = "assignment"
	KindPresence  = "presence"
	KindQuality   = "quality"
	KindNorm      = "norm"
	KindParameter = "parameter"
	KindMomentum  = "momentum"
	KindEMA       = "ema"
)

// SingleSteps is how many steps of a trajectory say something in float32:
// later ones amplify rounding beyond any use.
const SingleSteps = 4

// TrajectoryTolerances are the relative tolerances of a trajectory by kind.
// Kinds that are missing must be equal.
func TrajectoryTolerances(precision device.Precision) map[string]float64 {
	if precision == device.Float64 {
		t := map[string]float64{KindSchedule: 1e-12}
		for _, k := range []string{KindTerm, KindQuality, KindNorm, KindGradient, KindParameter, KindMomentum, KindEMA, KindStatistics} {
			t[k] = 1e-6
		}
		return t
	}
	return map[string]float64{
		KindSchedule: 1e-12, KindTerm: 3e-3, KindQuality: 3e-3, KindNorm: 3e-3,
		KindParameter: 1e-4, KindEMA: 1e-3, KindStatistics: 1e-3, KindGradient: 5e-2, KindMomentum: 5e-2,
	}
}

// OptionsOf turns the setting of a trajectory into those of a fit and its
// learning-rate schedule.
func OptionsOf(s golden.Setting) (trainer.Options, optim.LearningRateOptions) {
	musgd := optim.DefaultMuSGDOptions()
	musgd.Momentum, musgd.WeightDecay = s.Momentum, s.WeightDecay
	average := optim.DefaultEMAOptions()
	average.Decay, average.Tau = s.EMADecay, s.EMATau
	rate := optim.LearningRateOptions{
		LR: s.LR, LRF: s.LRF, WarmupEpochs: s.WarmupEpochs,
		MaxEpochs: s.Epochs, BatchesPerEpoch: len(s.Batches), Accumulate: 1,
	}
	return trainer.Options{
		MaxEpochs: s.Epochs, BatchSize: s.Batches[0], Accumulate: 1, Clip: s.Clip,
		Optimizer: musgd, Average: average,
		BranchWeight: optim.BranchWeight{Alpha: 0.5, AlphaInit: s.AlphaInit, AlphaFinal: s.AlphaFinal},
	}, rate
}

// Training is what a trajectory found.
type Training struct {
	Comparison *golden.Comparison
	Report     replay.Report // what was replayed
	// Digests are, for every step, over every bit of all losses, gradients,
	// parameters, momentums, averages and statistics up to its end: equal fits
	// have equal digests.
	Digests []string
}

// Trajectory trains a task from the reference's weights on its images and
// targets and compares every step. capture lists the options that ask for
// recording.
func Trajectory[T device.Float](dev device.Device, reference *golden.Trajectory, task trainer.Task[T], capture ...trainer.CaptureOption) (*Training, error) {
	precision := precisionOf[T]()
	comparison := golden.NewComparison(golden.Largest, TrajectoryTolerances(precision))
	fit, err := replay.NewFit(dev, replay.Settings{Precision: precision, Batch: reference.Setting.Batches[0]})
	if err != nil {
		return nil, err
	}
	defer fit.Close()
	options, rate := OptionsOf(reference.Setting)
	options.Record(capture...)
	learner, err := trainer.NewLearner(fit, task, options, rate)
	if err != nil {
		return nil, err
	}
	defer learner.Close()
	run := trajectoryRun[T]{reference: reference, comparison: comparison, learner: learner, branchWeight: options.BranchWeight, digest: newDigest()}
	if err := run.start(options.Average); err != nil {
		return nil, err
	}
	training := &Training{Comparison: comparison}
	steps := reference.Steps
	if precision != device.Float64 {
		steps = steps[:min(SingleSteps, len(steps))]
	}
	for i := range steps {
		if err := run.step(&steps[i]); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		training.Digests = append(training.Digests, run.digest.sum())
	}
	training.Report = learner.Report()
	return training, fit.Close()
}

type trajectoryRun[T device.Float] struct {
	reference    *golden.Trajectory
	comparison   *golden.Comparison
	learner      *trainer.Learner[T]
	branchWeight optim.BranchWeight
	digest       digest
}

// start writes the reference's weights; the average begins with them.
func (r *trajectoryRun[T]) start(average optim.EMAOptions) error {
	live, err := r.learner.Live()
	if err != nil {
		return err
	}
	var names []string
	for _, t := range live {
		names = append(names, t.Name)
	}
	weights := golden.TrajectoryWeights(r.reference.Setting.Seed, names)
	for _, t := range live {
		if err := golden.Fill(weights, t.Name, t.Shape, t.Value); err != nil {
			return err
		}
	}
	if err := r.learner.Store(); err != nil {
		return err
	}
	return r.learner.StartAverage(average)
}

func (r *trajectoryRun[T]) step(want *golden.Step) error {
	at := func(what string) string { return fmt.Sprintf("step %d, %s", want.Step, what) }
	s := r.reference.Setting
	alpha := r.branchWeight.At(want.Epoch, s.Epochs)
	r.comparison.Scalar(KindSchedule, at("alpha"), want.Alpha, alpha)
	image := make([]T, want.Batch*3*s.Height*s.Width)
	golden.FillImage(golden.NewRule(s.Seed), fmt.Sprintf("image.%d", want.Step), image)
	outputs, err := r.learner.Forward(source(image, []int{want.Batch, 3, s.Height, s.Width}))
	if err != nil {
		return err
	}
	loss, err := r.learner.Loss(outputs, r.batch(want), alpha)
	if err != nil {
		return err
	}
	r.loss(want, loss, at)
	if err := r.learner.Backward(loss); err != nil {
		return err
	}
	if err := r.gradients(want, at); err != nil {
		return err
	}
	outcome, _, err := r.learner.Update()
	if err != nil {
		return err
	}
	r.comparison.Scalar(KindSchedule, at("learning rate"), want.LR, outcome.Rate)
	r.comparison.Scalar(KindNorm, at("norm"), want.Norm, outcome.Norm)
	return r.state(want, at)
}

// batch makes the targets of a step.
func (r *trajectoryRun[T]) batch(want *golden.Step) *data.Batch {
	b := &data.Batch{N: want.Batch, H: r.reference.Setting.Height, W: r.reference.Setting.Width}
	for i := range want.Batch {
		made := r.reference.Setting.Target(want.Step, i)
		t := data.Target{Labels: made.Labels}
		for _, v := range made.Boxes {
			t.Boxes = append(t.Boxes, geometry.Box{X1: v[0], Y1: v[1], X2: v[2], Y2: v[3]})
		}
		for _, v := range made.RBoxes {
			t.Rotated = append(t.Rotated, geometry.RotatedBox{CenterX: v[0], CenterY: v[1], Width: v[2], Height: v[3], Angle: v[4]})
		}
		for _, ring := range made.Polygons {
			t.Polygons = append(t.Polygons, pointsOf(ring))
		}
		for k, points := range made.Keypoints {
			t.Keypoints = append(t.Keypoints, pointsOf(points))
			visibility := make([]uint8, len(points))
			for p, v := range made.Visibility[k] {
				visibility[p] = uint8(v)
			}
			t.Visibility = append(t.Visibility, visibility)
		}
		b.Targets = append(b.Targets, t)
	}
	return b
}

func pointsOf(coordinates [][2]float64) []geometry.Point {
	points := make([]geometry.Point, len(coordinates))
	for i, c := range coordinates {
		points[i] = geometry.Point{X: c[0], Y: c[1]}
	}
	return points
}

func (r *trajectoryRun[T]) loss(want *golden.Step, got trainer.Loss[T], at func(string) string) {
	for _, b := range got.Branches {
		terms, assigned, positives, quality := want.Terms.O2M, want.Assigned.O2M, want.Positives.O2M, want.Quality.O2M
		if b.Name == "o2o" {
			terms, assigned, positives, quality = want.Terms.O2O, want.Assigned.O2O, want.Positives.O2O, want.Quality.O2O
		}
		for _, t := range b.Terms {
			r.comparison.Scalar(KindTerm, at(b.Name+" "+t.Name), terms[t.Name], t.Value)
		}
		r.comparison.Scalar(KindTerm, at(b.Name+" number of terms"), float64(len(terms)), float64(len(b.Terms)))
		r.comparison.Scalar(KindAssigned, at(b.Name+" positives"), float64(positives), float64(b.Positives))
		r.comparison.Scalar(KindQuality, at(b.Name+" quality"), quality, b.Quality)
		r.equal(KindAssigned, at(b.Name+" assigned"), assigned, b.Assigned)
	}
	extra := map[string]float64{}
	if want.Terms.Semantic != nil {
		extra["semantic"] = *want.Terms.Semantic
	}
	for _, t := range got.Extra {
		r.comparison.Scalar(KindTerm, at(t.Name), extra[t.Name], t.Value)
	}
	r.comparison.Scalar(KindTerm, at("number of terms of no branch"), float64(len(extra)), float64(len(got.Extra)))
	r.comparison.Scalar(KindTerm, at("total"), want.Total, got.Total)
	addTensor(r.digest, KindTerm, "total", []float64{got.Total})
}

// equal compares two lists that must be the same; a difference counts as one
// whole unit.
func (r *trajectoryRun[T]) equal(kind, name string, want, got any) {
	one, two := fmt.Sprint(want), fmt.Sprint(got)
	difference := 0.0
	if one != two {
		difference = 1
		name += fmt.Sprintf(" (want %.200s, got %.200s)", one, two)
	}
	r.comparison.Scalar(kind, name, 1, 1+difference)
}

func (r *trajectoryRun[T]) gradients(want *golden.Step, at func(string) string) error {
	parameters, err := r.learner.Parameters()
	if err != nil {
		return err
	}
	var absent, zero []string
	summary := golden.NewSummary(r.reference.Setting.Seed)
	for _, p := range parameters {
		addTensor(r.digest, KindGradient, p.Name, p.Gradient)
		if sample, sampled := want.Gradient[p.Name]; sampled {
			golden.Tensor(r.comparison, KindGradient, at(p.Name), sample, p.Shape, p.Gradient)
		}
		switch {
		case p.Gradient == nil:
			absent = append(absent, p.Name)
			continue
		case !slices.ContainsFunc(p.Gradient, func(v T) bool { return v != 0 }):
			zero = append(zero, p.Name)
		}
		golden.AddTensor(summary, p.Name, p.Gradient)
	}
	r.comparison.Family(KindGradient, want.GradientAll, summary.Family())
	r.equal(KindPresence, at("absent"), want.Absent, golden.Tensors{Count: len(absent), Prefixes: prefixes(absent)})
	r.equal(KindPresence, at("zero"), want.Zero, golden.Tensors{Count: len(zero), Prefixes: prefixes(zero)})
	return nil
}

// prefixes names the stems or modules of parameters: four parts of a name in
// the head, one elsewhere.
func prefixes(names []string) []string {
	out := []string{}
	for _, n := range names {
		parts := strings.Split(n, ".")
		keep := 1
		if parts[0] == "head" {
			keep = 4
		}
		out = append(out, strings.Join(parts[:min(keep, len(parts))], "."))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

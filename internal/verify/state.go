package verify

import (
	"slices"

	"github.com/reprise-ml/reprise/internal/golden"
	"github.com/reprise-ml/reprise/internal/optim"
)

// state compares what a step leaves behind.
func (r *trajectoryRun[T]) state(want *golden.Step, at func(string) string) error {
	live, err := r.learner.Live()
	if err != nil {
		return err
	}
	parameters, err := r.learner.Parameters()
	if err != nil {
		return err
	}
	byKind := map[string][]optim.Tensor[T]{
		KindParameter:  live[:len(parameters)],
		KindStatistics: live[len(parameters):],
		KindMomentum:   r.learner.Momentum(),
		KindEMA:        r.learner.Average(),
	}
	samples := map[string]map[string]*golden.Sample{
		KindParameter: want.Parameter, KindStatistics: want.Statistics, KindMomentum: want.Momentum, KindEMA: want.EMA,
	}
	families := map[string]golden.Family{
		KindParameter: want.All.Parameter, KindStatistics: want.All.Statistics, KindMomentum: want.All.Momentum, KindEMA: want.All.EMA,
	}
	for _, kind := range []string{KindParameter, KindMomentum, KindEMA, KindStatistics} {
		r.family(kind, at, byKind[kind], samples[kind], families[kind])
	}
	return nil
}

// family compares all tensors of one kind. A sample without a tensor must be
// absent in the reference too, as momentum before a first gradient.
func (r *trajectoryRun[T]) family(kind string, at func(string) string, got []optim.Tensor[T], samples map[string]*golden.Sample, want golden.Family) {
	summary := golden.NewSummary(r.reference.Setting.Seed)
	found := map[string]optim.Tensor[T]{}
	for _, t := range got {
		addTensor(r.digest, kind, t.Name, t.Value)
		golden.AddTensor(summary, t.Name, t.Value)
		found[t.Name] = t
	}
	names := make([]string, 0, len(samples))
	for name := range samples {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		golden.Tensor(r.comparison, kind, at(name), samples[name], found[name].Shape, found[name].Value)
	}
	r.comparison.Family(kind, want, summary.Family())
}

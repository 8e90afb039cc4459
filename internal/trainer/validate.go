package trainer

import (
	"context"
	"errors"

	"github.com/reprise-ml/reprise/internal/data"
)

// Validate evaluates the moving average of the model on the validation data:
// the mean loss and its terms over all images, then the task's metrics. The
// raw model is back afterwards, also after a failure.
func (f *Fit[T]) Validate(ctx context.Context) (figures []Term, err error) {
	if err := f.swap(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.swap()) }()

	var metric Metric[T]
	if f.task.Metric != nil {
		metric = f.task.Metric()
	}
	mean := newMean()
	for batch, err := range f.data.Validation.Stream(ctx, data.Position{}, 1) {
		if err != nil {
			return nil, err
		}
		outputs, err := f.learner.Evaluate(images(batch))
		if err != nil {
			return nil, err
		}
		loss, err := f.learner.Loss(outputs, batch, f.alpha)
		if err != nil {
			return nil, err
		}
		mean.add(float64(batch.N), append([]Term{{"loss", loss.Total}}, loss.Terms()...))
		if metric != nil {
			if err := metric.Add(outputs, batch); err != nil {
				return nil, err
			}
		}
	}
	figures = mean.result()
	if metric == nil {
		return figures, nil
	}
	more, err := metric.Result()
	return append(figures, more...), err
}

// swap exchanges the live model and its average.
func (f *Fit[T]) swap() error {
	if err := f.learner.memory.pull(); err != nil {
		return err
	}
	if err := f.learner.update.EMA.Swap(f.learner.memory.live()); err != nil {
		return err
	}
	return f.learner.memory.push()
}

// mean averages terms, weighted by images.
type mean struct {
	weight float64
	names  []string
	sums   map[string]float64
}

func newMean() *mean { return &mean{sums: map[string]float64{}} }

func (m *mean) add(weight float64, terms []Term) {
	m.weight += weight
	for _, t := range terms {
		if _, known := m.sums[t.Name]; !known {
			m.names = append(m.names, t.Name)
		}
		m.sums[t.Name] += weight * t.Value
	}
}

func (m *mean) result() []Term {
	var out []Term
	for _, n := range m.names {
		out = append(out, Term{n, m.sums[n] / m.weight})
	}
	return out
}

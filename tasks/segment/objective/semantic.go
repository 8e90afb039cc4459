package objective

import (
	"fmt"

	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// SemanticTerm is a loss over class maps. logits and targets, which are 0 or 1,
// are (B,C,h,w), and plane is h*w. It returns the loss, before its gain, and its
// derivative by every logit. Nil slopes say that the term took no part. It must
// not keep its arguments.
type SemanticTerm func(logits, targets []float64, plane int) (value float64, slopes []float64)

// SemanticLoss is the mean binary cross-entropy over all elements plus the mean
// over images and classes of the dice loss 1 - (2 sum pt + 1) / (sum p + sum t +
// 1) of the probabilities p (YOLO26, arXiv:2606.03748, section 3.4.1;
// specification, objective section 2.8).
func SemanticLoss(logits, targets []float64, plane int) (value float64, slopes []float64) {
	slopes = make([]float64, len(logits))
	planes := len(logits) / plane
	entropies, dices := make([]float64, planes), make([]float64, planes)
	byEntropy, byDice := 1/float64(len(logits)), 1/float64(planes)
	yolo26.Each(planes, func(i int) {
		z, t, d := logits[i*plane:(i+1)*plane], targets[i*plane:(i+1)*plane], slopes[i*plane:(i+1)*plane]
		entropies[i] = yolo26.BinaryCrossEntropy(z, t, d)
		var both, all float64
		for k, difference := range d {
			p := difference + t[k]
			both += p * t[k]
			all += p + t[k]
		}
		over, under := 2*both+1, all+1
		dices[i] = 1 - over/under
		for k, difference := range d {
			p := difference + t[k]
			byProbability := over/(under*under) - 2*t[k]/under
			d[k] = byEntropy*difference + byDice*byProbability*p*(1-p)
		}
	})
	for i := range planes {
		value += byEntropy*entropies[i] + byDice*dices[i]
	}
	return value, slopes
}

// semanticTerm evaluates the semantic term of a step and returns the cotangent
// of the semantic output under the gain; nil when the term took no part.
func semanticTerm[T device.Float](s *step, output []T) (value float64, cotangent []T, err error) {
	if output == nil {
		return 0, nil, nil
	}
	logits := make([]float64, len(output))
	for i, z := range output {
		logits[i] = float64(z)
	}
	plane := s.Size.Height / semanticCell * (s.Size.Width / semanticCell)
	value, slopes := s.objective.Semantic(logits, s.classMaps(), plane)
	if slopes == nil {
		return value, nil, nil
	}
	if len(slopes) != len(output) {
		return 0, nil, fmt.Errorf("semantic term returned %d derivatives for %d logits; return one per logit, or nil when the term takes no part", len(slopes), len(output))
	}
	cotangent = make([]T, len(output))
	for i, slope := range slopes {
		cotangent[i] = T(s.objective.options.SemanticGain * slope)
	}
	return value, cotangent, nil
}

// classMaps unites the instance masks of every class, each cell being set that
// holds a set cell of the prototype grid: (B,C,H/8,W/8).
func (s *step) classMaps() []float64 {
	const fold = semanticCell / prototypeCell
	rows, columns := s.rows/fold, s.columns/fold
	maps := make([]float64, s.Size.Batch*s.Size.Classes*rows*columns)
	for object, real := range s.Truth.Mask {
		if !real {
			continue
		}
		plane := maps[(object/s.Truth.Instances*s.Size.Classes+s.Truth.Labels[object])*rows*columns:]
		for cell, set := range s.masks[object] {
			if set {
				plane[cell/s.columns/fold*columns+cell%s.columns/fold] = 1
			}
		}
	}
	return maps
}

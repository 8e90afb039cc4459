package musgd

import (
	"math"

	"github.com/reprise-ml/reprise/gen/stage"
)

// Steps is the number of Newton-Schulz iterations of every published recipe.
const Steps = 5

// Coefficients of the quintic Newton-Schulz iteration, the guard of its
// normalisation and the scale of its result (YOLO26 specification, training
// sections 4.2 and 4.3; the coefficients are those of the public Muon write-up).
const (
	coefficientA = 3.4445
	coefficientB = -4.7750
	coefficientC = 2.0315
	epsilon      = 1e-7
	muonScale    = 0.2
)

// The scalars of the stage. A stage has those that its classes need.
const (
	Momentum = "momentum" // mu
	Rate     = "rate"     // learning rate
	Muon     = "muon"     // learning rate times the gain of the orthogonalised direction
	SGD      = "sgd"      // learning rate times the gain of the momentum direction of matrices
	Decay    = "decay"    // learning rate times the weight decay
)

// What the names of the ports of a class begin with; Class.Name follows.
const (
	Gradient    = "gradient_"
	OldMomentum = "momentum_"
	Weight      = "weight_" // of matrices alone
	NewMomentum = "new_momentum_"
	Update      = "update_"
)

// Define gives the optimizer of a network, the stage that a program needs in
// order to train it on a device whose kernels are generated. stages are all
// stages of the network, in the order in which they run; steps is the number of
// Newton-Schulz iterations, 0 for a fit whose gain of the orthogonalised
// direction is 0.
func Define(name string, steps int, stages ...*stage.Definition) *stage.Definition {
	return stage.Define(name, func(b *stage.Builder) {
		var shapes [][]int
		for _, d := range stages {
			built, err := d.Build()
			if err != nil {
				panic(err) // Build of this stage reports it
			}
			for _, p := range built.Parameters {
				shapes = append(shapes, p.Shape)
			}
		}
		build(b, steps, Classes(shapes))
	})
}

// OfShapes gives the optimizer of a table of parameter shapes.
//
// Its inputs are the scalars that it needs and, for each of Classes(shapes),
// gradients, momentum and, for matrices, weights; its outputs are, for each
// class, the new momentum and the update to subtract from the weights. All have
// the shape Class.Shape.
func OfShapes(name string, steps int, shapes [][]int) *stage.Definition {
	return stage.Define(name, func(b *stage.Builder) { build(b, steps, Classes(shapes)) })
}

func build(b *stage.Builder, steps int, classes []Class) {
	scalars := map[string]stage.Tensor{}
	for _, c := range classes {
		for _, name := range scalarsOf(c, steps) {
			if _, known := scalars[name]; !known {
				scalars[name] = b.Scalar(name)
			}
		}
		buildClass(b, steps, c, scalars)
	}
}

func scalarsOf(c Class, steps int) []string {
	switch {
	case !c.Matrices():
		return []string{Momentum, Rate}
	case steps == 0:
		return []string{Momentum, SGD, Decay}
	}
	return []string{Momentum, Muon, SGD, Decay}
}

// buildClass is section 4.2 for one class, up to W <- W - update.
func buildClass(b *stage.Builder, steps int, c Class, by map[string]stage.Tensor) {
	gradient, before := b.FixedInput(Gradient+c.Name(), c.Shape()...), b.FixedInput(OldMomentum+c.Name(), c.Shape()...)
	scope := b.Scope(c.Name())
	momentum := scope.LinearCombination(stage.Term{X: before, By: by[Momentum]}, stage.Term{X: gradient})
	direction := scope.LinearCombination(stage.Term{X: gradient}, stage.Term{X: momentum, By: by[Momentum]})
	b.Output(NewMomentum+c.Name(), momentum)
	if !c.Matrices() {
		b.Output(Update+c.Name(), scope.LinearCombination(stage.Term{X: direction, By: by[Rate]}))
		return
	}
	weight := b.FixedInput(Weight+c.Name(), c.Shape()...)
	terms := []stage.Term{{X: direction, By: by[SGD]}, {X: weight, By: by[Decay]}}
	if steps > 0 {
		gain := muonScale * math.Sqrt(float64(max(c.Rows, c.Columns)))
		terms = append([]stage.Term{{X: Orthogonalize(scope, direction, steps), Factor: gain, By: by[Muon]}}, terms...)
	}
	b.Output(Update+c.Name(), scope.LinearCombination(terms...))
}

// Orthogonalize applies Newton-Schulz iterations to each matrix of rows
// (M, R, C): singular values end near 1, a zero matrix stays zero (YOLO26
// specification, training section 4.3). The Gram matrix is always taken on the
// shorter side; a tall matrix is multiplied from the right, which is the same as
// transposing it before and after.
func Orthogonalize(b *stage.Builder, v stage.Tensor, steps int) stage.Tensor {
	shape := v.Shape()
	if len(shape) != 3 {
		return b.NormalizeMatrices(v, epsilon) // which reports the mistake
	}
	rows, _ := shape[1].Constant()
	columns, _ := shape[2].Constant()
	tall := rows > columns
	x := b.NormalizeMatrices(v, epsilon)
	for range steps {
		gram := b.MatMul(x, x, stage.Product{TransposeA: tall, TransposeB: !tall})
		// The Gram matrix is symmetric; written as the product with its own
		// transpose, its square is seen to be so too.
		p := b.MatMulAdd(gram, coefficientB, gram, gram, stage.Product{TransposeB: true, Alpha: coefficientC})
		if tall {
			x = b.MatMulAdd(x, coefficientA, x, p, stage.Product{})
		} else {
			x = b.MatMulAdd(x, coefficientA, p, x, stage.Product{})
		}
	}
	return x
}

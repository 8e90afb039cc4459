// Package clashes defines stages and outputs whose names become one when they
// are cleaned carelessly. Field case CG-13.
package clashes

import "github.com/reprise-ml/reprise/gen/stage"

// The stages.
var (
	Minus  = define("head-2", "c", "C", "c-d", "c_d")
	Under  = define("head_2", "c")
	Point  = define("head.2", "c")
	Upper  = define("Head_2", "c")
	Short  = define("a-b", "c")
	Long   = define("a-b-c", "c")
	Inputs = define("x_inputs", "c")
	New    = define("new_x", "c")
	Plain  = define("x", "c")
)

func define(name string, outputs ...string) *stage.Definition {
	return stage.Define(name, func(b *stage.Builder) {
		x := b.Input("a", stage.Shape{stage.Batch, 4})
		for _, o := range outputs {
			x = b.Scope("layer", o).Linear(x, 4, stage.NoBias)
			b.Output(o, x)
		}
	})
}

// Package letters defines stages with the names of variables that cgo and the
// wrappers use. Field case CG-21.
package letters

import "github.com/reprise-ml/reprise/gen/stage"

// The stages.
var (
	A = define("a")
	R = define("r")
	V = define("v")
)

func define(name string) *stage.Definition {
	return stage.Define(name, func(b *stage.Builder) {
		b.Output("v", b.SiLU(b.Input("r", stage.Shape{stage.Batch, 4})))
	})
}

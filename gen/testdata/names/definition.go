// Package names defines stages whose names Go, C or a file system treat
// specially. Field case CG-12.
package names

import "github.com/reprise-ml/reprise/gen/stage"

// The stages.
var (
	Type      = define("type")
	TypeUnder = define("type_")
	Range     = define("range")
	String    = define("string")
	Len       = define("len")
	Init      = define("init")
	Main      = define("main")
	C         = define("C")
	Func      = define("func")
	Digit     = define("2stage")
)

func define(name string) *stage.Definition {
	return stage.Define(name, func(b *stage.Builder) {
		x := b.Input("type", stage.Shape{stage.Batch, 4})
		x = b.Scope("range").Linear(x, 2, stage.NoBias)
		b.Output("func", x)
	})
}

// Package twelve defines twelve stages. Field case CG-01.
package twelve

import "github.com/reprise-ml/reprise/gen/stage"

// The stages.
var (
	A = define("a", 1)
	B = define("b", 2)
	C = define("c", 3)
	D = define("d", 4)
	E = define("e", 5)
	F = define("f", 6)
	G = define("g", 7)
	H = define("h", 8)
	I = define("i", 9)
	J = define("j", 10)
	K = define("k", 11)
	L = define("l", 12)
)

func define(name string, width int) *stage.Definition {
	return stage.Define(name, func(b *stage.Builder) {
		x := b.Input("x", stage.Shape{stage.Batch, 3, stage.Height, stage.Width})
		x = b.Scope("conv").Conv2d(x, stage.Conv{Out: width, Kernel: 3})
		x = b.Scope("bn").BatchNorm(x, stage.Norm{})
		b.Output("y", b.SiLU(x))
		b.Output("z", b.ReLU(x), stage.Optional())
	})
}

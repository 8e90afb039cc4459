// Package same defines two stages of one name.
package same

import "github.com/reprise-ml/reprise/gen/stage"

// Two stages.
var (
	One = define()
	Two = stage.Define("network", build)
)

func define() *stage.Definition { return stage.Define("network", build) }

func build(b *stage.Builder) {
	b.Output("y", b.SiLU(b.Input("x", stage.Shape{stage.Batch, 4})))
}

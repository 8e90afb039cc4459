// Package panics panics inside its definition.
package panics

import "github.com/reprise-ml/reprise/gen/stage"

// Network reads past the end.
var Network = stage.Define("network", func(b *stage.Builder) {
	var widths []int
	x := b.Input("x", stage.Shape{stage.Batch, 4})
	b.Output("y", b.Linear(x, widths[2], stage.NoBias))
})

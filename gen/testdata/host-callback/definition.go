// Package callback asks for work on the host. Field case CT-12.
package callback

import "github.com/reprise-ml/reprise/gen/stage"

// Network calls back.
var Network = stage.Define("network", func(b *stage.Builder) {
	x := b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width})
	x = b.HostCallback(x, func(values []float32) { println(values[0]) })
	b.Output("y", b.SiLU(x))
})

// Package hidden keeps a feature map in a field. Field case SE-08.
package hidden

import "github.com/reprise-ml/reprise/gen/stage"

type model struct{ first stage.Tensor }

var kept model

// Network hides its first feature map.
var Network = stage.Define("network", func(b *stage.Builder) {
	x := b.SiLU(b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width}))
	kept.first = x
	b.Output("y", b.Tanh(x))
})

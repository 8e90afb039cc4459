// Package mistakes makes mistakes of the language.
package mistakes

import (
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/gen/testdata/mistakes/block"
)

// Network has a wrong kernel, a wrong block and an unused input.
var Network = stage.Define("network", func(b *stage.Builder) {
	x := b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width})
	b.Input("other", stage.Shape{stage.Batch, 3})
	b.Scope("a").Conv2d(x, stage.Conv{Out: 8, Kernel: 2})
	b.Output("y", block.Wrong(b, x))
})

// Package second is one of two sets of definitions for one generated package.
// Field case CG-02.
package second

import "github.com/reprise-ml/reprise/gen/stage"

// Head is a stage of the second set.
var Head = stage.Define("head", func(b *stage.Builder) {
	b.Output("y", b.Tanh(b.Input("x", stage.Shape{stage.Batch, 4})))
})

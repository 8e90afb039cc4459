// Package first is one of two sets of definitions for one generated package.
// Field case CG-02.
package first

import "github.com/reprise-ml/reprise/gen/stage"

// Stem is a stage of the first set.
var Stem = stage.Define("stem", func(b *stage.Builder) {
	b.Output("y", b.SiLU(b.Input("x", stage.Shape{stage.Batch, 4})))
})

// Package stage is the language in which authors describe the parts of a
// network that are to be recorded. A definition is a Go function over a
// Builder; blocks are ordinary Go functions that take a Builder and tensors:
//
//	var Network = stage.Define("network", func(b *stage.Builder) {
//		image := b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width})
//		x := b.Scope("stem").Conv2d(image, stage.Conv{Out: 16, Kernel: 3, Stride: 2})
//		b.Output("feature", b.SiLU(x))
//	})
//
// Tensors are symbolic: nothing is computed while a definition runs. Every
// operation remembers the author's file and line, and mistakes are collected
// and reported together.
package stage

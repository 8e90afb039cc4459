// Package block is a block of another package.
package block

import "github.com/reprise-ml/reprise/gen/stage"

// Wrong adds what cannot be added.
func Wrong(b *stage.Builder, x stage.Tensor) stage.Tensor {
	b.Add(x, b.Scope("b").Conv2d(x, stage.Conv{Out: 5}))
	return b.SiLU(x)
}

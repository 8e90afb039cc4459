// Package hidden keeps tensors in every way that outlives a run, and in ways
// that do not. Field case SE-08.
package hidden

import (
	"sync"

	"github.com/reprise-ml/reprise/gen/stage"
)

type model struct{ feature stage.Tensor }

func (m *model) run(b *stage.Builder, x stage.Tensor) stage.Tensor {
	m.feature = b.SiLU(x)
	return m.feature
}

var (
	list    []stage.Tensor
	byName  = map[string]stage.Tensor{}
	cache   sync.Map
	shared  = &model{}
	any     interface{}
	results = make(chan stage.Tensor, 1)
)

func global() *model { return shared }

// Network hides tensors directly.
var Network = stage.Define("network", func(b *stage.Builder) {
	x := b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width})
	var mine model // a variable of the run: fine
	x = mine.run(b, x)
	local := map[string]stage.Tensor{}
	local["x"] = x
	update := func() { x = b.Tanh(x) }
	update()
	list = append(list, x)
	byName["x"] = x
	cache.Store("x", x)
	any = x
	results <- x
	global().feature = x
	alias := shared
	alias.feature = x
	copied := *shared // a copy: fine
	copied.feature = x
	b.Output("y", b.SiLU(x))
})

// Second hides tensors in a variable around the definition and in a method of
// what is shared.
var Second = second(nil)

func second(outer []stage.Tensor) *stage.Definition {
	var captured stage.Tensor
	return stage.Define("second", func(b *stage.Builder) {
		x := b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width})
		captured = x
		outer[0] = captured
		b.Output("y", shared.run(b, x))
	})
}

// Package broken does not compile.
package broken

import "github.com/reprise-ml/reprise/gen/stage"

// Network assigns a string.
var Network = stage.Define("network", func(b *stage.Builder) {
	var x int = "one"
	b.Output("y", undefined)
})

var other int = "two"

// Package empty defines nothing.
package empty

import "github.com/reprise-ml/reprise/gen/stage"

// Network is no definition.
var Network stage.Tensor

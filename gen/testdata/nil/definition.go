// Package nilled declares a definition that nobody sets.
package nilled

import "github.com/reprise-ml/reprise/gen/stage"

// Network is nil.
var Network *stage.Definition

// Package unexported hides its definition.
package unexported

import "github.com/reprise-ml/reprise/gen/stage"

var network = stage.Define("network", nil)

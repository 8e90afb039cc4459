//go:build tools

// Package tools pins the commands that go generate and make lint run.
package tools

import (
	_ "golang.org/x/tools/go/packages"
	_ "honnef.co/go/tools/cmd/staticcheck"
)

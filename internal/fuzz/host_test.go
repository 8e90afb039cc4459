//go:build !cuda

package fuzz

import (
	"testing"

	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

// openDevice opens what the fits of FuzzGuards run on.
func openDevice(testing.TB) device.Device { return host.Open(host.Options{}) }

//go:build cuda

package run

import (
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
)

func openCUDA() (device.Device, error) {
	d, err := cuda.Open(cuda.Options{})
	if err != nil {
		return nil, err
	}
	return d, nil
}

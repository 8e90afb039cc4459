//go:build !cuda

package run

import (
	"errors"

	"github.com/reprise-ml/reprise/runtime/device"
)

func openCUDA() (device.Device, error) {
	return nil, errors.New("device is cuda, but this build has no CUDA back end; build with -tags cuda on a machine with the CUDA headers, or use --device=host")
}

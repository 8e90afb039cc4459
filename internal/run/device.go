package run

import (
	"fmt"

	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

// OpenDevice opens the back end of a name: host or cuda.
func OpenDevice(name string) (device.Device, error) {
	switch name {
	case "host":
		return host.Open(host.Options{}), nil
	case "cuda":
		return openCUDA()
	}
	return nil, fmt.Errorf("device is %q; use host or cuda", name)
}

//go:build cuda

package cuda

// #include "reprise_driver.h"
import "C"

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/reprise-ml/reprise/runtime/device"
)

// status is what a driver call returned.
type status C.CUresult

// Error implements error.
func (s status) Error() string {
	name, text := C.GoString(C.reprise_status_name(C.CUresult(s))), C.GoString(C.reprise_status_text(C.CUresult(s)))
	if text == "" {
		return fmt.Sprintf("%s %d", name, int(s))
	}
	return fmt.Sprintf("%s %d (%s)", name, int(s), text)
}

// statusOf reads the status out of an error of gorgonia.org/cu, whose type is
// not exported but is the number itself.
func statusOf(err error) (s status, found bool) {
	if errors.As(err, &s) {
		return s, true
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return status(v.Int()), true
	}
	return 0, false
}

// sticky lists the failures of work on the device after which the context
// answers nothing else.
var sticky = map[status]bool{
	C.CUDA_ERROR_ECC_UNCORRECTABLE:     true,
	C.CUDA_ERROR_ILLEGAL_ADDRESS:       true,
	C.CUDA_ERROR_LAUNCH_TIMEOUT:        true,
	C.CUDA_ERROR_CONTEXT_IS_DESTROYED:  true,
	C.CUDA_ERROR_ASSERT:                true,
	C.CUDA_ERROR_HARDWARE_STACK_ERROR:  true,
	C.CUDA_ERROR_ILLEGAL_INSTRUCTION:   true,
	C.CUDA_ERROR_MISALIGNED_ADDRESS:    true,
	C.CUDA_ERROR_INVALID_ADDRESS_SPACE: true,
	C.CUDA_ERROR_INVALID_PC:            true,
	C.CUDA_ERROR_LAUNCH_FAILED:         true,
}

// wrap says in words what failed. An error after which nothing on the device can
// be trusted becomes a *device.StickyError.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	s, found := statusOf(err)
	if !found {
		return fmt.Errorf("cuda: %s: %w", what, err)
	}
	err = fmt.Errorf("cuda: %s: %w", what, s)
	if sticky[s] {
		return &device.StickyError{Err: err}
	}
	return err
}

// outOfMemory tells that the device has not enough free memory.
const outOfMemory = status(C.CUDA_ERROR_OUT_OF_MEMORY)

//go:build cuda

package cuda

import (
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// elementType is a device.Type with what the back end knows about it.
type elementType device.Type

// typeOf is the type in memory of an element kind.
func typeOf(e ir.Element, precision device.Precision) elementType {
	switch e {
	case ir.Index:
		return elementType(device.TypeInt32)
	case ir.Counter:
		return elementType(device.TypeInt64)
	case ir.Activation:
		switch precision {
		case device.FP16:
			return elementType(device.TypeFloat16)
		case device.BF16:
			return elementType(device.TypeBFloat16)
		}
	}
	return elementType(device.TypeFloat32)
}

// bytes of an element.
func (t elementType) bytes() int64 {
	switch device.Type(t) {
	case device.TypeInt64:
		return 8
	case device.TypeFloat16, device.TypeBFloat16:
		return 2
	}
	return 4
}

// integer tells whether elements are whole numbers.
func (t elementType) integer() bool {
	return device.Type(t) == device.TypeInt32 || device.Type(t) == device.TypeInt64
}

// elementBytes is the size of an activation.
func elementBytes(precision device.Precision) int64 {
	return typeOf(ir.Activation, precision).bytes()
}

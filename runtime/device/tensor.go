package device

// Type is the type of a tensor's elements in memory.
type Type string

// The element types.
const (
	TypeFloat32  Type = "float32"
	TypeFloat64  Type = "float64"
	TypeFloat16  Type = "float16"
	TypeBFloat16 Type = "bfloat16"
	TypeInt32    Type = "int32"
	TypeInt64    Type = "int64"
)

// Tensor is a view of device memory. Its shape is logical: a map is
// (N, C, H, W) whatever the layout. Reads and writes convert between the
// element type and the type of the slice, move elements in row-major order of
// the logical shape, and fail when the lengths differ.
type Tensor interface {
	Name() string
	Shape() []int
	Type() Type

	ReadFloat64(dst []float64) error
	WriteFloat64(src []float64) error
	ReadFloat32(dst []float32) error
	WriteFloat32(src []float32) error
	ReadInt64(dst []int64) error
	WriteInt64(src []int64) error

	// WriteImages fills a map (N, 3, H, W) from 8-bit pixels stored N, H, W,
	// RGB; each becomes code/255, after the colours of every image have been
	// changed by its jitter. A nil jitter changes none.
	WriteImages(pixels []uint8, jitter []Jitter) error

	// CopyFrom copies a tensor of the same shape on the same device.
	CopyFrom(src Tensor) error

	// Add adds a tensor of the same shape, type and device, element by element,
	// in the arithmetic of the type.
	Add(src Tensor) error

	// Zero sets every element to zero.
	Zero() error
}

// Elements is the number of elements of a shape.
func Elements(shape []int) int {
	total := 1
	for _, d := range shape {
		total *= d
	}
	return total
}

// Read copies a tensor into dst.
func Read[T Float](t Tensor, dst []T) error {
	switch d := any(dst).(type) {
	case []float32:
		return t.ReadFloat32(d)
	case []float64:
		return t.ReadFloat64(d)
	}
	panic("unreachable: Float has two members")
}

// Write copies src into a tensor.
func Write[T Float](t Tensor, src []T) error {
	switch s := any(src).(type) {
	case []float32:
		return t.WriteFloat32(s)
	case []float64:
		return t.WriteFloat64(s)
	}
	panic("unreachable: Float has two members")
}

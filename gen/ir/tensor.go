package ir

// Ref names a tensor of a stage: its position in Stage.Tensors plus one, so
// that the zero Ref means "no tensor".
type Ref int

// Space says where a tensor's storage lives and who owns it.
type Space string

// The spaces of a stage.
const (
	Arena             Space = "arena"     // scratch of one signature, placed by the arena plan
	Input             Space = "input"     // written by the caller before the forward pass
	Output            Space = "output"    // written by the forward pass, read by the objective
	Cotangent         Space = "cotangent" // written by the objective before the backward pass
	InputGradient     Space = "input gradient"
	ParameterSpace    Space = "parameter" // master weights, owned by the fit
	ParameterGradient Space = "gradient"  // written by the backward pass, read by the optimizer
	BufferSpace       Space = "buffer"    // state that forward passes update, such as running statistics
)

// Element is what one element of a storage is, before the precision of a fit
// turns it into bytes.
type Element string

// The element kinds.
const (
	Activation Element = "activation" // the fit's precision: FP32, FP16 or BF16 (float64 in checks)
	Master     Element = "master"     // FP32 whatever the precision: weights, gradients, statistics
	Index      Element = "index"      // int32
	Counter    Element = "counter"    // int64
)

// ElementKinds lists the element kinds.
var ElementKinds = []Element{Activation, Master, Index, Counter}

// Tensor is a view of a storage. Shape is logical, as the author sees it:
// a map is (N, C, H, W) whatever the layout in memory.
type Tensor struct {
	Name  string  `json:"name"`
	Shape []Dim   `json:"shape"`
	Elem  Element `json:"elem"`

	// Map marks (N, C, H, W) maps, which are stored channels last. Other
	// tensors of four dimensions are matrices (N, g, rows, columns).
	Map bool `json:"map,omitempty"`

	// Storage, Offset and Strides are decided by the layout pass; strides and
	// offset count elements, one stride per dimension of Shape.
	Storage StorageID `json:"storage"`
	Offset  Dim       `json:"offset"`
	Strides []Dim     `json:"strides"`
}

// StorageID names a storage: its position in Stage.Storages plus one.
type StorageID int

// Storage is one contiguous piece of memory that tensors are views of.
type Storage struct {
	Name  string  `json:"name"`
	Space Space   `json:"space"`
	Elem  Element `json:"elem"`
	Size  Dim     `json:"size"` // elements

	// Place is decided by the arena pass (Space Arena only): storages whose
	// lives do not overlap may share memory.
	Place Place `json:"place,omitzero"`
}

// Elements is the number of elements of a shape.
func Elements(shape []Dim) Dim {
	total := Const(1)
	for _, d := range shape {
		total = total.Mul(d)
	}
	return total
}

// RowMajor gives the strides of a contiguous tensor of the shape.
func RowMajor(shape []Dim) []Dim {
	strides := make([]Dim, len(shape))
	step := Const(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step = step.Mul(shape[i])
	}
	return strides
}

// ChannelsLast gives the strides of a map (N, C, H, W) stored as N, H, W, C.
func ChannelsLast(shape []Dim) []Dim {
	c, h, w := shape[1], shape[2], shape[3]
	return []Dim{h.Mul(w).Mul(c), Const(1), w.Mul(c), c}
}

// EqualShapes tells whether two shapes are the same polynomials.
func EqualShapes(a, b []Dim) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}

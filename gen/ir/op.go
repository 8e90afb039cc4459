package ir

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
)

// Pos is where the author wrote an operation.
type Pos struct {
	Package string `json:"package,omitempty"` // import path
	File    string `json:"file,omitempty"`    // base name
	Line    int    `json:"line,omitempty"`
}

// String prints file:line with the import path as folder.
func (p Pos) String() string {
	if p.File == "" {
		return "unknown position"
	}
	return path.Join(p.Package, p.File) + ":" + strconv.Itoa(p.Line)
}

// Mode says in which forward passes an operation takes part.
type Mode string

// The modes.
const (
	Always   Mode = ""
	Training Mode = "training"
	Eval     Mode = "evaluation"
)

// Op is one operation; after the passes, one launch of a kernel.
type Op struct {
	Name string // scope and role, unique within its program
	Mode Mode
	Do   Kernel
	Pos  Pos

	// Lane is the stream that runs the launch and Wait the earlier launches of
	// other lanes that it must follow; both are decided by the lanes pass.
	Lane int
	Wait []int
}

// Access says what a kernel does with an operand.
type Access int

// The kinds of access.
const (
	Read Access = iota
	Write
	Update // read and write: an accumulating output or a state
)

// Kernel is the typed description of one operation: its operands by role and
// its constants. The concrete types are listed in kernels.
type Kernel interface {
	// Kind is the name of the operation in plans, messages and kernel files.
	Kind() string
	// Operands visits the operands in a fixed order. Operands that are absent
	// (Ref 0) are visited too; visit may replace the Ref.
	Operands(visit func(role string, ref *Ref, access Access))
}

// InPlace is a kernel that may write its result over one of its operands, if both
// lie in memory alike: what computes an element of the result reads the operand in
// that element alone, and does so before it writes there. (A thread may read further
// elements whose values it does not use.)
type InPlace interface {
	Kernel
	// Over gives the result and the operand, 0 and 0 when the kernel adds to
	// what its result holds already.
	Over() (result, operand Ref)
}

// kernels creates an empty kernel of each kind, for reading plans.
var kernels = map[string]func() Kernel{}

func register(create func() Kernel) { kernels[create().Kind()] = create }

// Kinds lists the kinds of kernels that exist, in no particular order.
func Kinds() []string {
	var kinds []string
	for k := range kernels {
		kinds = append(kinds, k)
	}
	return kinds
}

// Reads lists the tensors that an operation reads, in operand order.
func (o *Op) Reads() []Ref { return o.operands(Read, Update) }

// Writes lists the tensors that an operation writes, in operand order.
func (o *Op) Writes() []Ref { return o.operands(Write, Update) }

func (o *Op) operands(wanted ...Access) []Ref {
	var refs []Ref
	o.Do.Operands(func(_ string, ref *Ref, access Access) {
		for _, w := range wanted {
			if access == w && *ref != 0 {
				refs = append(refs, *ref)
			}
		}
	})
	return refs
}

type opJSON struct {
	Name string          `json:"name"`
	Mode Mode            `json:"mode,omitempty"`
	Kind string          `json:"op"`
	Args json.RawMessage `json:"args"`
	Lane int             `json:"lane,omitempty"`
	Wait []int           `json:"wait,omitempty"`
	Pos  *Pos            `json:"pos,omitempty"`
}

// MarshalJSON writes the operation with its kind and arguments.
func (o Op) MarshalJSON() ([]byte, error) {
	args, err := json.Marshal(o.Do)
	if err != nil {
		return nil, err
	}
	out := opJSON{Name: o.Name, Mode: o.Mode, Kind: o.Do.Kind(), Args: args, Lane: o.Lane, Wait: o.Wait}
	if o.Pos != (Pos{}) {
		out.Pos = &o.Pos
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote; an unknown kind is an error.
func (o *Op) UnmarshalJSON(data []byte) error {
	var in opJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	create, known := kernels[in.Kind]
	if !known {
		return fmt.Errorf("operation %q: unknown kind %q; generate the package again with this version", in.Name, in.Kind)
	}
	kernel := create()
	if err := json.Unmarshal(in.Args, kernel); err != nil {
		return fmt.Errorf("operation %q: %w", in.Name, err)
	}
	*o = Op{Name: in.Name, Mode: in.Mode, Do: kernel, Lane: in.Lane, Wait: in.Wait}
	if in.Pos != nil {
		o.Pos = *in.Pos
	}
	return nil
}

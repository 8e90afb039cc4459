package ir

import (
	"fmt"
	"strings"
)

// FormatVersion is the version of the plan format; generated packages and the
// runtime must agree on it.
const FormatVersion = 2

// Stage is one recordable part of a network: first as its author wrote it,
// after the passes with everything decided that a back end needs.
type Stage struct {
	Format   int      `json:"format"`
	Name     string   `json:"name"`
	Digest   string   `json:"digest,omitempty"`
	Multiple Multiple `json:"multiple"`

	Inputs     []Port      `json:"inputs"`
	Outputs    []Port      `json:"outputs"`
	Parameters []Parameter `json:"parameters"`
	Buffers    []Buffer    `json:"buffers"`

	Forward  []Op       `json:"forward"`
	Backward []Backward `json:"backward"`

	Tensors  []Tensor  `json:"tensors"`
	Storages []Storage `json:"storages"`

	// Unrecordable, when not empty, is why the stage must always run natively.
	Unrecordable string `json:"unrecordable,omitempty"`

	Pos Pos `json:"pos,omitzero"`
}

// Port is a named input or output of a stage.
type Port struct {
	Name   string `json:"name"`
	Tensor Ref    `json:"tensor"`

	// Gradient is the tensor of the port's gradient: of an output, the
	// cotangent that the objective writes; of a differentiable input, what
	// the backward pass gives; otherwise 0.
	Gradient Ref `json:"gradient,omitempty"`

	Optional       bool   `json:"optional,omitempty"`       // outputs: the cotangent may be absent
	Group          string `json:"group,omitempty"`          // optional outputs of one group are absent together
	TrainingOnly   bool   `json:"trainingOnly,omitempty"`   // outputs: absent in evaluation
	Differentiable bool   `json:"differentiable,omitempty"` // inputs: a gradient is wanted
	Pos            Pos    `json:"pos,omitzero"`
}

// Parameter is a trainable tensor under its state-entry name.
type Parameter struct {
	Name     string     `json:"name"`
	Shape    []int      `json:"shape"`
	Tensor   Ref        `json:"tensor"`
	Gradient Ref        `json:"gradient,omitempty"` // 0 when no program reaches it
	Init     Initialise `json:"init"`
	Pos      Pos        `json:"pos,omitzero"`
}

// Buffer is state that forward passes update, under its state-entry name.
type Buffer struct {
	Name   string  `json:"name"`
	Shape  []int   `json:"shape"`
	Elem   Element `json:"elem"`
	Tensor Ref     `json:"tensor"`
	Value  float64 `json:"value"` // every element at the start

	// Seeded marks a generator state: its first counter starts as the fit's
	// seed mixed with the buffer's name.
	Seeded bool `json:"seeded,omitempty"`
	Pos    Pos  `json:"pos"`
}

// Initialise says how a parameter starts: uniform in ±Bound when Bound > 0,
// else every element Value (YOLO26 specification, network section 8).
type Initialise struct {
	Bound float64 `json:"bound,omitempty"`
	Value float64 `json:"value,omitempty"`
}

// Backward is the backward program of one presence pattern: the outputs that
// receive a cotangent. It holds exactly the operations that these need.
type Backward struct {
	Present    []string `json:"present"`    // output names, in output order
	Parameters []string `json:"parameters"` // names that receive a gradient, in parameter order
	Inputs     []string `json:"inputs,omitempty"`
	Ops        []Op     `json:"ops"`
}

// Tensor returns the tensor that ref names.
func (s *Stage) Tensor(ref Ref) *Tensor { return &s.Tensors[ref-1] }

// Storage returns the storage that id names.
func (s *Stage) Storage(id StorageID) *Storage { return &s.Storages[id-1] }

// StorageOf returns the storage that the tensor is a view of.
func (s *Stage) StorageOf(ref Ref) *Storage { return s.Storage(s.Tensor(ref).Storage) }

// AddTensor appends a tensor and returns its name.
func (s *Stage) AddTensor(t Tensor) Ref {
	s.Tensors = append(s.Tensors, t)
	return Ref(len(s.Tensors))
}

// AddStorage appends a storage and returns its name.
func (s *Stage) AddStorage(st Storage) StorageID {
	s.Storages = append(s.Storages, st)
	return StorageID(len(s.Storages))
}

// Pattern finds the backward program for a set of present outputs.
func (s *Stage) Pattern(present []string) (index int, found bool) {
	for i, b := range s.Backward {
		if equalNames(b.Present, present) {
			return i, true
		}
	}
	return 0, false
}

func equalNames(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// ShapeText prints a shape as (N, 3, H, W).
func ShapeText(shape []Dim) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = d.String()
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// CheckSizes tells why a stage cannot run at the given sizes.
func (s *Stage) CheckSizes(z Sizes) error {
	if z.Batch < 1 {
		return fmt.Errorf("stage %s: batch of %d images; at least 1 is needed", s.Name, z.Batch)
	}
	if z.Height < 1 || z.Width < 1 || z.Height%max(s.Multiple.Height, 1) != 0 || z.Width%max(s.Multiple.Width, 1) != 0 {
		return fmt.Errorf("stage %s: %d x %d px is not a positive multiple of %d x %d px", s.Name, z.Height, z.Width, s.Multiple.Height, s.Multiple.Width)
	}
	return nil
}

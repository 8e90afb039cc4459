package musgd

import (
	"cmp"
	"fmt"
	"slices"
)

// Class is a set of tensors that one launch works on: matrices of one size, or
// all tensors that are no matrices, joined to one vector.
type Class struct {
	Rows, Columns int   // of each matrix; 0 for the class of vectors
	Members       []int // positions in the table of shapes, ascending
	Length        int   // elements of all members together
}

// Matrices tells whether the class gets the orthogonalised direction and weight
// decay, as tensors of rank 2 and 4 do.
func (c Class) Matrices() bool { return c.Rows > 0 }

// Name is the part of a port's name that tells the class: rows x columns, or
// vectors.
func (c Class) Name() string {
	if !c.Matrices() {
		return "vectors"
	}
	return fmt.Sprintf("%dx%d", c.Rows, c.Columns)
}

// Shape is the shape of the class's ports: (M, R, C) for M matrices, (1, L) for
// vectors.
func (c Class) Shape() []int {
	if !c.Matrices() {
		return []int{1, c.Length}
	}
	return []int{len(c.Members), c.Rows, c.Columns}
}

// MatrixSize gives the rows (dimension 0) and columns (product of the other
// dimensions) of a tensor that the matrix rule covers. Only ranks 2 and 4, the
// ranks of linear and convolution weights, are matrices: a (C,1,1) gain is a
// vector whatever its rank.
func MatrixSize(shape []int) (rows, columns int, ok bool) {
	if len(shape) != 2 && len(shape) != 4 {
		return 0, 0, false
	}
	return shape[0], elements(shape[1:]), true
}

// Classes sorts a table of shapes into classes: matrices by rows and then by
// columns, at the end the vectors. It depends on the table alone, so that the
// stage that was generated from a network's definition and the one that a fit
// needs for the same network are one.
func Classes(shapes [][]int) []Class {
	var classes []Class
	for i, shape := range shapes {
		rows, columns, _ := MatrixSize(shape)
		at, found := slices.BinarySearchFunc(classes, Class{Rows: rows, Columns: columns}, order)
		if !found {
			classes = slices.Insert(classes, at, Class{Rows: rows, Columns: columns})
		}
		classes[at].Members = append(classes[at].Members, i)
		classes[at].Length += elements(shape)
	}
	return classes
}

// order puts the vectors last.
func order(a, b Class) int {
	if a.Matrices() != b.Matrices() {
		if a.Matrices() {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Rows, b.Rows), cmp.Compare(a.Columns, b.Columns))
}

func elements(shape []int) int {
	total := 1
	for _, d := range shape {
		total *= d
	}
	return total
}

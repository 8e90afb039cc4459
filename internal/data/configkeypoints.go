package data

import (
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// keypoints reads kpt_shape: the number of keypoints and 2 or 3 numbers each.
func (r *configReader) keypoints(node ast.Node) {
	if node == nil {
		return
	}
	values, ok := integerList(node)
	if !ok || len(values) != 2 || values[0] < 1 || (values[1] != 2 && values[1] != 3) {
		r.fault(node, "kpt_shape is not [K, 2] or [K, 3]", "write the number of keypoints and 3 for x y v or 2 for x y")
		return
	}
	r.config.Keypoints = KeypointShape{Count: values[0], Dimensions: values[1]}
}

// flipOrder reads flip_idx: one entry per keypoint, its own inverse.
func (r *configReader) flipOrder(node ast.Node) {
	if node == nil {
		return
	}
	values, ok := integerList(node)
	if !ok || len(values) != r.config.Keypoints.Count {
		r.fault(node, fmt.Sprintf("flip_idx is not a list of %d integers", r.config.Keypoints.Count),
			"give, for every keypoint of kpt_shape, the one whose place it takes in the mirrored image")
		return
	}
	if err := (FlipStep{KeypointOrder: values}).Validate(); err != nil {
		r.fault(node, "flip_idx: "+err.Error(), "write each pair both ways")
		return
	}
	r.config.Schema.FlipOrder = values
}

// integerList reads a list of integers.
func integerList(node ast.Node) ([]int, bool) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		return nil, false
	}
	values := make([]int, len(list.Values))
	for i, value := range list.Values {
		text, _ := scalar(value)
		number, err := strconv.Atoi(text)
		if err != nil {
			return nil, false
		}
		values[i] = number
	}
	return values, true
}

// Rows is the variant of the label rows that a task reads from this data set:
// boxes for detect, oriented corners for obb, polygons for segment, and for pose
// boxes with keypoints of the declared shape, without which it is an error.
func (c *Config) Rows(task string) (RowFormat, error) {
	switch task {
	case "detect":
		return BoxRows, nil
	case "obb":
		return OrientedRows, nil
	case "segment":
		return PolygonRows, nil
	case "pose":
		if c.Keypoints.Count == 0 {
			return nil, faultsOrNil([]Fault{{File: c.File, Problem: "no keypoints are declared, which the task pose needs",
				Remedy: "add kpt_shape: [K, 3] to data.yaml, or give a COCO person_keypoints file"}})
		}
		return KeypointRows(c.Keypoints), nil
	}
	return nil, fmt.Errorf("task %q reads no labels; use detect, obb, pose or segment", task)
}

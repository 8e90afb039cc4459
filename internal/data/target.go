package data

import (
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Target is what is known about the N instances of one image, in float64 pixels
// of the image's current canvas (data and evaluation specification, section 1).
type Target struct {
	// Boxes holds the N axis-aligned boxes.
	Boxes []geometry.Box
	// Labels holds the N dense class indices.
	Labels []int
	// Polygons is empty or holds one ring of points per instance.
	Polygons [][]geometry.Point
	// Rotated is empty or holds one canonical rotated box per instance.
	Rotated []geometry.RotatedBox
	// Difficult is empty, which means all false, or holds N flags.
	Difficult []bool
	// Keypoints is empty or holds K points per instance.
	Keypoints [][]geometry.Point
	// Visibility goes with Keypoints: 0 unlabelled, 1 labelled but hidden, 2 visible.
	Visibility [][]uint8
}

// Len is N, the number of instances.
func (t Target) Len() int { return len(t.Labels) }

// Validate reports the first broken rule of the record: counts that differ, a
// negative label, a visibility above 2.
func (t Target) Validate() error {
	n := len(t.Labels)
	if len(t.Boxes) != n {
		return fmt.Errorf("target: %d boxes for %d labels; one box per label is needed", len(t.Boxes), n)
	}
	for _, part := range []struct {
		name   string
		length int
	}{
		{"polygons", len(t.Polygons)}, {"rotated boxes", len(t.Rotated)},
		{"difficult flags", len(t.Difficult)}, {"keypoint lists", len(t.Keypoints)},
	} {
		if part.length != 0 && part.length != n {
			return fmt.Errorf("target: %d %s for %d labels; give none or one per label", part.length, part.name, n)
		}
	}
	for i, label := range t.Labels {
		if label < 0 {
			return fmt.Errorf("target: label %d of instance %d is negative; labels count from 0", label, i)
		}
	}
	return t.validateKeypoints()
}

func (t Target) validateKeypoints() error {
	if len(t.Visibility) != len(t.Keypoints) {
		return fmt.Errorf("target: %d visibility lists for %d keypoint lists; the counts must be equal",
			len(t.Visibility), len(t.Keypoints))
	}
	for i, points := range t.Keypoints {
		if len(points) != len(t.Keypoints[0]) || len(t.Visibility[i]) != len(points) {
			return fmt.Errorf("target: instance %d has %d keypoints and %d visibilities where the first has %d; every instance needs the same count",
				i, len(points), len(t.Visibility[i]), len(t.Keypoints[0]))
		}
		if slices.ContainsFunc(t.Visibility[i], func(v uint8) bool { return v > 2 }) {
			return fmt.Errorf("target: instance %d has a visibility above 2; use 0, 1 or 2", i)
		}
	}
	return nil
}

// Clone is a deep copy.
func (t Target) Clone() Target {
	clone := Target{
		Boxes:     slices.Clone(t.Boxes),
		Labels:    slices.Clone(t.Labels),
		Rotated:   slices.Clone(t.Rotated),
		Difficult: slices.Clone(t.Difficult),
	}
	for _, ring := range t.Polygons {
		clone.Polygons = append(clone.Polygons, slices.Clone(ring))
	}
	for i := range t.Keypoints {
		clone.Keypoints = append(clone.Keypoints, slices.Clone(t.Keypoints[i]))
		clone.Visibility = append(clone.Visibility, slices.Clone(t.Visibility[i]))
	}
	return clone
}

// Filter keeps the instances whose flag in keep is set. The rotated boxes have
// their own decision, keepRotated, because a clipped rotated box can survive or
// vanish apart from its envelope: it is needed exactly when there are rotated
// boxes, and must leave as many as keep does. The lists inside the result are
// shared with t.
func (t Target) Filter(keep, keepRotated []bool) (Target, error) {
	if len(keep) != t.Len() || len(keepRotated) != len(t.Rotated) {
		return Target{}, fmt.Errorf("target: filter of %d and %d flags over %d instances and %d rotated boxes; give one flag each",
			len(keep), len(keepRotated), t.Len(), len(t.Rotated))
	}
	kept := Target{
		Boxes:      pick(t.Boxes, keep),
		Labels:     pick(t.Labels, keep),
		Polygons:   pick(t.Polygons, keep),
		Rotated:    pick(t.Rotated, keepRotated),
		Difficult:  pick(t.Difficult, keep),
		Keypoints:  pick(t.Keypoints, keep),
		Visibility: pick(t.Visibility, keep),
	}
	return kept, kept.Validate()
}

func pick[T any](values []T, keep []bool) []T {
	var kept []T
	for i, value := range values {
		if keep[i] {
			kept = append(kept, value)
		}
	}
	return kept
}

// Concat joins the instances of several records in order. Polygons, rotated
// boxes and keypoints must be carried by all records or by none; a record
// without instances is neutral. The lists inside the result are shared.
func Concat(targets ...Target) (Target, error) {
	var joined Target
	hasDifficult := slices.ContainsFunc(targets, func(t Target) bool { return len(t.Difficult) > 0 })
	for _, t := range targets {
		joined.Boxes = append(joined.Boxes, t.Boxes...)
		joined.Labels = append(joined.Labels, t.Labels...)
		joined.Polygons = append(joined.Polygons, t.Polygons...)
		joined.Rotated = append(joined.Rotated, t.Rotated...)
		joined.Keypoints = append(joined.Keypoints, t.Keypoints...)
		joined.Visibility = append(joined.Visibility, t.Visibility...)
		if hasDifficult {
			flags := t.Difficult
			if len(flags) == 0 {
				flags = make([]bool, t.Len())
			}
			joined.Difficult = append(joined.Difficult, flags...)
		}
	}
	return joined, joined.Validate()
}

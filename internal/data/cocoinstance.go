package data

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// cocoKind is what a label format reads from a COCO annotation.
type cocoKind struct {
	rings, ringNeeded, oriented, keypoints bool
}

// cocoKindOf maps a declared format to COCO. Boxes and keypoints keep the rings
// where an image has them all, for copy-paste needs outlines.
func cocoKindOf(format RowFormat) cocoKind {
	switch format.(type) {
	case orientedRows:
		return cocoKind{oriented: true, ringNeeded: true}
	case polygonRows:
		return cocoKind{rings: true, ringNeeded: true}
	case keypointRows:
		return cocoKind{rings: true, keypoints: true}
	}
	return cocoKind{rings: true}
}

func (r *cocoReader) addAnnotation(a cocoAnnotation, offset int64) {
	if r.evaluation {
		r.addAnnotated(a, offset)
		return
	}
	if a.Crowd != 0 {
		r.crowds++
		return
	}
	entry := r.entry(a.ImageID)
	if entry.first == 0 {
		entry.first = offset
	}
	found, usable, problem, remedy := r.instance(a)
	label, declared := r.labels[a.CategoryID]
	if wrong, correction := r.annotationProblem(a, declared); wrong != "" {
		problem, remedy = wrong, correction
	}
	switch {
	case problem != "":
		entry.faults = append(entry.faults, located{offset, fmt.Sprintf("annotation %d: %s", a.ID, problem), remedy})
	case !usable:
		r.unusable++
	default:
		entry.ringless = entry.ringless || found.polygon == nil
		entry.target.add(label, found)
		entry.target.Difficult = append(entry.target.Difficult, a.Difficult == 1)
	}
}

// annotationProblem is what is wrong with an annotation whatever it is read for.
func (r *cocoReader) annotationProblem(a cocoAnnotation, declared bool) (problem, remedy string) {
	switch {
	case !declared:
		return fmt.Sprintf("category %d is not declared", a.CategoryID), "declare the category or correct the annotation"
	case a.Difficult != 0 && a.Difficult != 1:
		return fmt.Sprintf("difficult is %d", a.Difficult), "write 0 or 1"
	}
	return "", ""
}

// Remedies of geometry that is not as COCO has it.
const (
	boxRemedy      = "write bbox as x y width height in pixels"
	keypointRemedy = "write x, y and a visibility of 0, 1 or 2 for every keypoint of the category"
)

// instance reads the geometry of an annotation. It is not usable when its outline
// is needed and missing, or is there and not a ring.
func (r *cocoReader) instance(a cocoAnnotation) (found instance, usable bool, problem, remedy string) {
	ring, state := firstRing(a.Segmentation)
	if state == ringUnusable || state == ringAbsent && r.kind.ringNeeded {
		return found, false, "", ""
	}
	if r.kind.oriented {
		if len(ring) != 4 {
			return found, true, fmt.Sprintf("the ring has %d points where an oriented box has 4", len(ring)), "write the four corners of the box"
		}
		rotated := geometry.FitQuadrilateral([4]geometry.Point(ring))
		return instance{box: geometry.Envelope(ring), rotated: &rotated}, true, "", ""
	}
	if !goodBox(a.Box) {
		return found, true, fmt.Sprintf("bbox is %v", a.Box), boxRemedy
	}
	found.box = geometry.Box{X1: a.Box[0], Y1: a.Box[1], X2: a.Box[0] + a.Box[2], Y2: a.Box[1] + a.Box[3]}
	found.polygon = ring
	if r.kind.keypoints {
		found.keypoints, found.visibility, problem = cocoKeypoints(a.Keypoints, r.config.Keypoints.Count)
	}
	return found, true, problem, keypointRemedy
}

func goodBox(box []float64) bool {
	if len(box) != 4 || box[2] < 0 || box[3] < 0 {
		return false
	}
	for _, value := range box {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return false
		}
	}
	return true
}

// ringState tells an outline that is not there from one that cannot be used.
type ringState int

const (
	ringAbsent ringState = iota
	ringUnusable
	ringUsable
)

// firstRing is the first ring of a segmentation: at least three points as a flat
// list of even length. A run-length mask, an empty list or a short ring cannot be
// used, and its instance is left out.
func firstRing(segmentation json.RawMessage) ([]geometry.Point, ringState) {
	if len(segmentation) == 0 {
		return nil, ringAbsent
	}
	var rings []json.RawMessage
	var flat []float64
	if json.Unmarshal(segmentation, &rings) != nil || len(rings) == 0 {
		return nil, ringUnusable
	}
	if json.Unmarshal(rings[0], &flat) != nil || len(flat) < 6 || len(flat)%2 != 0 {
		return nil, ringUnusable
	}
	return pointsOf(flat), ringUsable
}

// pointsOf pairs the numbers of a ring.
func pointsOf(flat []float64) []geometry.Point {
	ring := make([]geometry.Point, len(flat)/2)
	for i := range ring {
		ring[i] = geometry.Point{X: flat[2*i], Y: flat[2*i+1]}
	}
	return ring
}

// cocoKeypoints splits a flat list of x, y, v.
func cocoKeypoints(flat []float64, count int) ([]geometry.Point, []uint8, string) {
	if len(flat) != 3*count {
		return nil, nil, fmt.Sprintf("keypoints has %d numbers where %d keypoints need %d", len(flat), count, 3*count)
	}
	points, visibility := make([]geometry.Point, count), make([]uint8, count)
	for i := range points {
		v := flat[3*i+2]
		if v != 0 && v != 1 && v != 2 {
			return nil, nil, fmt.Sprintf("visibility of keypoint %d is %v", i, v)
		}
		points[i], visibility[i] = geometry.Point{X: flat[3*i], Y: flat[3*i+1]}, uint8(v)
	}
	return points, visibility, ""
}

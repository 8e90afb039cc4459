package data

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// Annotated is an instance or a crowd region as a COCO file annotates it, in
// pixels of the image. Evaluation compares with these; training reads less of
// them (data and evaluation specification, sections 2.2 and 9.1).
type Annotated struct {
	// Label is the dense class index.
	Label int
	// Crowd marks a region of many instances, which only excuses detections.
	Crowd bool
	// Area is the annotated area in square pixels, nil where the file has none.
	Area *float64
	// Box is not clamped to the image.
	Box geometry.Box
	// Keypoints and Visibility are empty for a data set without keypoints.
	Keypoints  []geometry.Point
	Visibility []uint8
	// Labelled is the annotated number of labelled keypoints, or counted where
	// the file has none.
	Labelled int

	outline outline
}

// outline is a mask as it is annotated: rings, or run lengths down the columns of
// a mask of their own size.
type outline struct {
	rings         [][]geometry.Point
	runs          []int
	width, height int
}

// Mask is the mask of an instance on an image of width x height pixels: the union
// of all its rings, by the centres of the pixels, or its run lengths. Run lengths of another size are an error.
func (a Annotated) Mask(width, height int) (*mask.Bitmap, error) {
	if a.outline.runs != nil {
		if err := a.outline.fits(width, height); err != nil {
			return nil, err
		}
		return mask.FromRuns(a.outline.runs, width, height)
	}
	union := mask.New(width, height)
	for _, ring := range a.outline.rings {
		if err := union.Add(mask.RasteriseCentres(ring, width, height)); err != nil {
			return nil, err
		}
	}
	return union, nil
}

// fits reports run lengths that are not those of a mask of width x height pixels.
func (o outline) fits(width, height int) error {
	if o.width != width || o.height != height {
		return fmt.Errorf("run lengths of %dx%d for an image of %dx%d", o.width, o.height, width, height)
	}
	return mask.CheckRuns(o.runs, width, height)
}

// addAnnotated keeps an annotation for evaluation.
func (r *cocoReader) addAnnotated(a cocoAnnotation, offset int64) {
	entry := r.entry(a.ImageID)
	if entry.first == 0 {
		entry.first = offset
	}
	found, usable, problem, remedy := r.annotated(a)
	switch {
	case problem != "":
		entry.faults = append(entry.faults, located{offset, fmt.Sprintf("annotation %d: %s", a.ID, problem), remedy})
	case !usable:
		r.unusable++
	default:
		entry.annotated = append(entry.annotated, found)
		entry.offsets = append(entry.offsets, located{offset: offset, problem: fmt.Sprintf("annotation %d", a.ID)})
		if found.Crowd {
			r.crowds++
		}
	}
}

// annotated reads an annotation for evaluation. It is not usable when masks are
// evaluated and it has none.
func (r *cocoReader) annotated(a cocoAnnotation) (found Annotated, usable bool, problem, remedy string) {
	label, declared := r.labels[a.CategoryID]
	if problem, remedy = r.annotationProblem(a, declared); problem != "" {
		return found, true, problem, remedy
	}
	if !goodBox(a.Box) {
		return found, true, fmt.Sprintf("bbox is %v", a.Box), boxRemedy
	}
	found = Annotated{Label: label, Crowd: a.Crowd != 0, Area: a.Area,
		Box: geometry.Box{X1: a.Box[0], Y1: a.Box[1], X2: a.Box[0] + a.Box[2], Y2: a.Box[1] + a.Box[3]}}
	if a.Area != nil && !(*a.Area >= 0) {
		return found, true, fmt.Sprintf("area is %v", *a.Area), "write the area in square pixels"
	}
	if r.kind.keypoints {
		return r.annotatedKeypoints(a, found)
	}
	if r.kind.ringNeeded {
		found.outline, usable, problem = outlineOf(a.Segmentation)
		return found, usable, problem, outlineRemedy
	}
	return found, true, "", ""
}

// annotatedKeypoints adds the keypoints; a crowd may have none.
func (r *cocoReader) annotatedKeypoints(a cocoAnnotation, found Annotated) (_ Annotated, usable bool, problem, remedy string) {
	count := r.config.Keypoints.Count
	if found.Crowd && len(a.Keypoints) == 0 {
		found.Keypoints, found.Visibility = make([]geometry.Point, count), make([]uint8, count)
		return found, true, "", ""
	}
	if found.Keypoints, found.Visibility, problem = cocoKeypoints(a.Keypoints, count); problem != "" {
		return found, true, problem, keypointRemedy
	}
	for _, visibility := range found.Visibility {
		if visibility > 0 {
			found.Labelled++
		}
	}
	if a.Labelled != nil {
		found.Labelled = *a.Labelled
	}
	return found, true, "", ""
}

const outlineRemedy = "write rings of x and y, or run lengths with counts and size"

// outlineOf reads a segmentation in full. Without any ring of three points and
// without run lengths it is not usable.
func outlineOf(segmentation json.RawMessage) (found outline, usable bool, problem string) {
	if len(segmentation) == 0 {
		return found, false, ""
	}
	var rings [][]float64
	if json.Unmarshal(segmentation, &rings) == nil {
		for _, flat := range rings {
			if len(flat)%2 != 0 {
				return found, true, fmt.Sprintf("a ring of %d numbers", len(flat))
			}
			// Fewer than three points enclose nothing.
			if len(flat) >= 6 {
				found.rings = append(found.rings, pointsOf(flat))
			}
		}
		return found, len(found.rings) > 0, ""
	}
	return runsOf(segmentation)
}

// runsOf reads run lengths as numbers or as the compressed text of COCO.
func runsOf(segmentation json.RawMessage) (found outline, usable bool, problem string) {
	var encoded struct {
		Counts json.RawMessage `json:"counts"`
		Size   []int           `json:"size"`
	}
	var text string
	if json.Unmarshal(segmentation, &encoded) != nil || len(encoded.Size) != 2 {
		return found, true, "segmentation holds neither rings nor run lengths"
	}
	found.height, found.width = encoded.Size[0], encoded.Size[1]
	if json.Unmarshal(encoded.Counts, &text) == nil {
		runs, err := mask.ParseRuns(text)
		if err != nil {
			return found, true, problemOf(err)
		}
		found.runs = runs
	} else if json.Unmarshal(encoded.Counts, &found.runs) != nil {
		return found, true, "the counts of the run lengths are neither numbers nor text"
	}
	return found, len(found.runs) > 0, ""
}

// problemOf is an error without its remedy, for the fault has one of its own.
func problemOf(err error) string {
	problem, _, _ := strings.Cut(err.Error(), "; ")
	return problem
}

// checkOutlines looks whether the run lengths of an image fit it, so that bad ones
// are listed with their lines before anything is evaluated.
func (e *cocoEntry) checkOutlines() {
	for i, annotated := range e.annotated {
		if annotated.outline.runs == nil {
			continue
		}
		if err := annotated.outline.fits(e.record.Width, e.record.Height); err != nil {
			at := e.offsets[i]
			e.faults = append(e.faults, located{at.offset, at.problem + ": " + problemOf(err), outlineRemedy})
		}
	}
}

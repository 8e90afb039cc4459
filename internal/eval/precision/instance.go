package precision

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/eval/overlap"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// BoxObject is an annotated box.
type BoxObject struct {
	Object
	Box geometry.Box
}

// AddBoxes evaluates the boxes of one image. Objects whose sides are not both
// positive are dropped. With a crowd the overlap is the covered share of the
// detection (YOLO26 specification, data and evaluation section 9.1).
func (e *COCO) AddBoxes(detections []decode.Detection, objects []BoxObject) error {
	rows := make([]Detection, len(detections))
	for i, d := range detections {
		rows[i] = Detection{Class: d.Class, Score: d.Score, Area: d.Box.Area()}
	}
	var kept []BoxObject
	all, plain := make([]Object, len(objects)), []Object(nil)
	for i, o := range objects {
		all[i] = o.Object
		if o.Box.Area() > 0 {
			kept, plain = append(kept, o), append(plain, o.Object)
		}
	}
	// Errors count the objects as they were given.
	if err := check(rows, all, len(e.classes)); err != nil {
		return err
	}
	return e.Add(rows, plain, func(d, o int) float64 {
		if kept[o].Crowd {
			return share(overlap.Common(detections[d].Box, kept[o].Box), rows[d].Area)
		}
		return overlap.IoU(detections[d].Box, kept[o].Box)
	})
}

// MaskDetection is a detected mask.
type MaskDetection struct {
	decode.Pick
	Mask *mask.Bitmap
}

// MaskObject is an annotated mask.
type MaskObject struct {
	Object
	Mask *mask.Bitmap
}

// AddMasks evaluates the masks of one image, which must all have one size. With
// a crowd the overlap is the covered share of the detection.
func (e *COCO) AddMasks(detections []MaskDetection, objects []MaskObject) error {
	areas := make([]int, len(objects))
	plain := make([]Object, len(objects))
	for i, o := range objects {
		areas[i], plain[i] = o.Mask.Area(), o.Object
	}
	rows := make([]Detection, len(detections))
	for i, d := range detections {
		rows[i] = Detection{Class: d.Class, Score: d.Score, Area: float64(d.Mask.Area())}
		for _, o := range objects {
			if o.Mask.Width != d.Mask.Width || o.Mask.Height != d.Mask.Height {
				return fmt.Errorf("detection %d: a mask of %d x %d pixels beside an annotated one of %d x %d; rasterise both on one grid",
					i, d.Mask.Width, d.Mask.Height, o.Mask.Width, o.Mask.Height)
			}
		}
	}
	return e.Add(rows, plain, func(d, o int) float64 {
		// Sizes are equal, so there is no error.
		common, _ := detections[d].Mask.Intersection(objects[o].Mask)
		whole := rows[d].Area
		if !objects[o].Crowd {
			whole += float64(areas[o] - common)
		}
		return share(float64(common), whole)
	})
}

// share is part over whole, 0 of nothing.
func share(part, whole float64) float64 {
	if part == 0 {
		return 0
	}
	return part / whole
}

package validate

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/eval/precision"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// object is what detections are compared with, in pixels of its image.
type object struct {
	class int
	crowd bool
	// area is the annotated one in square pixels; nil takes that of the box, of
	// the mask or of the labelled keypoints.
	area *float64
	box  geometry.Box

	rotated    geometry.RotatedBox // obb
	difficult  bool
	mask       *mask.Bitmap     // segment
	keypoints  []geometry.Point // pose
	visibility []uint8
	unlabelled bool // no keypoint counts as labelled
}

// objectsOf are the objects of an image for a task.
func objectsOf(item data.Item, task string) ([]object, error) {
	if len(item.Annotated) > 0 {
		return annotatedObjects(item, task)
	}
	target := item.Target
	objects := make([]object, target.Len())
	for i, label := range target.Labels {
		objects[i] = object{class: label, box: target.Boxes[i], difficult: len(target.Difficult) > 0 && target.Difficult[i]}
		switch task {
		case "obb":
			objects[i].rotated = target.Rotated[i]
		case "pose":
			objects[i].keypoints, objects[i].visibility = target.Keypoints[i], target.Visibility[i]
		}
	}
	if task != "segment" {
		return objects, nil
	}
	if len(target.Polygons) != target.Len() {
		return nil, fmt.Errorf("%d instances with %d rings; masks need a data set of polygons", target.Len(), len(target.Polygons))
	}
	for i := range objects {
		objects[i].mask = mask.RasteriseCentres(target.Polygons[i], item.Width, item.Height)
	}
	return objects, nil
}

// annotatedObjects are those of a COCO file, crowds included.
func annotatedObjects(item data.Item, task string) ([]object, error) {
	objects := make([]object, len(item.Annotated))
	for i, a := range item.Annotated {
		objects[i] = object{
			class: a.Label, crowd: a.Crowd, area: a.Area, box: a.Box,
			keypoints: a.Keypoints, visibility: a.Visibility, unlabelled: a.Labelled == 0,
		}
		if task == "segment" {
			var err error
			if objects[i].mask, err = a.Mask(item.Width, item.Height); err != nil {
				return nil, fmt.Errorf("annotation: %w", err)
			}
		}
	}
	return objects, nil
}

// matched is an object as matching knows it, of the annotated area or the given.
func (o object) matched(area float64) precision.Object {
	if o.area != nil {
		area = *o.area
	}
	return precision.Object{Class: o.class, Area: area, Crowd: o.crowd}
}

func (o object) asBox() precision.BoxObject {
	return precision.BoxObject{Object: o.matched(o.box.Area()), Box: o.box}
}

func (o object) asMask() precision.MaskObject {
	return precision.MaskObject{Object: o.matched(float64(o.mask.Area())), Mask: o.mask}
}

// asKeypoints takes the tight box of the labelled points for an area that is not
// annotated (YOLO26 specification, data and evaluation section 9.2).
func (o object) asKeypoints() precision.KeypointObject {
	keypoints := precision.KeypointObject{Box: o.box, Points: o.keypoints, Visibility: o.visibility}
	keypoints.Object = o.matched(max(geometry.Envelope(keypoints.Labelled()).Area(), 1))
	keypoints.Ignore = o.unlabelled
	return keypoints
}

func (o object) asRotated() precision.RotatedObject {
	return precision.RotatedObject{Class: o.class, Box: o.rotated, Difficult: o.difficult}
}

package survey

import (
	"fmt"
	"image"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/picture"
)

// Annotate draws a target of a data set on its image: rotated boxes where there
// are some, else boxes, with masks, skeletons and class names.
func Annotate(base image.Image, target data.Target, dataset *data.Dataset) (*image.RGBA, error) {
	annotations := make([]picture.Annotation, target.Len())
	for i, label := range target.Labels {
		if label >= len(dataset.Names) {
			return nil, fmt.Errorf("label %d of instance %d has no name; give the names of all classes", label, i)
		}
		text := dataset.Names[label]
		if len(target.Difficult) > 0 && target.Difficult[i] {
			text += " (difficult)"
		}
		if len(target.Rotated) > 0 {
			annotations[i] = picture.FromRotated(target.Rotated[i], label, text)
		} else {
			annotations[i] = picture.FromBox(target.Boxes[i], label, text)
		}
		if len(target.Polygons) > 0 {
			annotations[i].Ring = target.Polygons[i]
		}
		if len(target.Keypoints) > 0 {
			annotations[i].Bones = dataset.Schema.Skeleton
			for n, point := range target.Keypoints[i] {
				visibility := target.Visibility[i][n]
				annotations[i].Points = append(annotations[i].Points, picture.Mark{Point: point, Hidden: visibility == 1, Absent: visibility == 0})
			}
		}
	}
	return picture.Annotate(base, annotations)
}

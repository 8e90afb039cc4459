package predict

import (
	"image"
	"image/color"

	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/picture"
)

// Draw draws instances on their image, named by labels that have a name for every
// class.
func Draw(raster *data.Raster, instances []Instance, labels checkpoint.Labels) (*image.RGBA, error) {
	annotations := make([]picture.Annotation, len(instances))
	for i, instance := range instances {
		text := picture.Label(labels.Classes[instance.Class], instance.Score)
		annotations[i] = picture.FromBox(instance.Box, instance.Class, text)
		if instance.Rotated != nil {
			annotations[i] = picture.FromRotated(*instance.Rotated, instance.Class, text)
		}
		if instance.Mask != nil {
			annotations[i].Mask = alphaOf(instance.Mask)
		}
		if len(instance.Keypoints) > 0 {
			annotations[i].Bones = labels.Skeleton
		}
		for _, p := range instance.Keypoints {
			annotations[i].Points = append(annotations[i].Points, picture.Mark{Point: p})
		}
	}
	return picture.Annotate(raster.Standard(), annotations)
}

func alphaOf(m *mask.Bitmap) *image.Alpha {
	alpha := image.NewAlpha(image.Rect(0, 0, m.Width, m.Height))
	for y := range m.Height {
		for x := range m.Width {
			if m.At(y, x) {
				alpha.SetAlpha(x, y, color.Alpha{A: 255})
			}
		}
	}
	return alpha
}

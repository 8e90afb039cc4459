package objective

import (
	"testing"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/stretchr/testify/require"
)

// Four images of 1024 px with 20 objects each. The cost is that of the cells
// that the objects cover.
func BenchmarkAssign(b *testing.B) {
	for name, side := range map[string]float64{"objects of 40 px": 40, "objects of 800 px": 800} {
		b.Run(name, func(b *testing.B) {
			const images, classes = 4, 15
			s := randomScene(b, 1, canvas(b, 1024, 1024), 1024, images, 0, classes, false)
			labels, rotated, boxes := make([][]int, images), make([][]geometry.RotatedBox, images), make([][]geometry.Box, images)
			for image := range images {
				for n := range 20 {
					box := rbox(100+40*float64(n), 500, side, side/2, float64(n)/7)
					labels[image], rotated[image], boxes[image] = append(labels[image], n%classes), append(rotated[image], box), append(boxes[image], box.Envelope())
				}
			}
			var err error
			s.truth, err = Pad(labels, boxes, classes)
			require.NoError(b, err)
			require.NoError(b, s.truth.SetRotated(rotated))
			b.ReportAllocs()
			for b.Loop() {
				s.assign(OneToManyAssigner())
			}
		})
	}
}

package data

import "github.com/reprise-ml/reprise/internal/geometry"

// PolygonRows are outlines of at least three points: class x1 y1 x2 y2 x3 y3 and
// so on. The box of an instance is the envelope of its ring.
var PolygonRows RowFormat = polygonRows{}

type polygonRows struct{}

func (polygonRows) Name() string            { return "polygon" }
func (polygonRows) Layout() string          { return "class x1 y1 x2 y2 x3 y3 ..." }
func (polygonRows) accepts(fields int) bool { return fields >= 7 && fields%2 == 1 }

func (polygonRows) instance(values []float64, width, height float64) (instance, string) {
	ring := make([]geometry.Point, len(values)/2)
	for i := range ring {
		x, y := values[2*i], values[2*i+1]
		for _, value := range [2]*float64{&x, &y} {
			if problem := intoUnit(value); problem != "" {
				return instance{}, problem
			}
		}
		ring[i] = geometry.Point{X: x * width, Y: y * height}
	}
	return instance{box: geometry.Envelope(ring), polygon: ring}, ""
}

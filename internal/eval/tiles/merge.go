package tiles

import (
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/precision"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// Merge collects the windows of one image.
type Merge struct {
	layout *Layout
	parts  []part
}

// part is what one window adds to the image.
type part struct {
	seen       bool
	detections []decode.Rotated
	objects    []precision.RotatedObject
}

// NewMerge starts an image cut by layout.
func NewMerge(layout *Layout) *Merge {
	return &Merge{layout: layout, parts: make([]part, layout.Len())}
}

// Add takes the detections and the objects of a window in its pixels and keeps
// those whose centre the window owns, in pixels of the image. A window outside
// the layout or seen before is an error.
func (m *Merge) Add(window int, detections []decode.Rotated, objects []precision.RotatedObject) error {
	if window < 0 || window >= len(m.parts) {
		return fmt.Errorf("window %d of an image of %d; give an index of the layout", window, len(m.parts))
	}
	if m.parts[window].seen {
		return fmt.Errorf("window %d was added before; add every window once", window)
	}
	origin := m.layout.windows[window].Min
	place := func(b geometry.RotatedBox) (geometry.RotatedBox, bool) {
		b.CenterX += float64(origin.X)
		b.CenterY += float64(origin.Y)
		return b, m.layout.Owns(window, geometry.Point{X: b.CenterX, Y: b.CenterY})
	}
	added := part{seen: true}
	for _, d := range detections {
		var owned bool
		if d.Box, owned = place(d.Box); owned {
			added.detections = append(added.detections, d)
		}
	}
	for _, o := range objects {
		var owned bool
		if o.Box, owned = place(o.Box); owned {
			added.objects = append(added.objects, o)
		}
	}
	m.parts[window] = added
	return nil
}

// Image returns the detections and objects of the whole image, in the order of
// its windows whatever the order in which they came. complete is false, and the
// rest empty, while a window is missing: such an image has no figures.
func (m *Merge) Image() (detections []decode.Rotated, objects []precision.RotatedObject, complete bool) {
	if slices.ContainsFunc(m.parts, func(p part) bool { return !p.seen }) {
		return nil, nil, false
	}
	for _, p := range m.parts {
		detections = append(detections, p.detections...)
		objects = append(objects, p.objects...)
	}
	return detections, objects, true
}

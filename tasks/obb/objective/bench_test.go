package objective

import "testing"

// Four images of 1024 px with 20 objects each and the 15 classes of DOTA: 21504
// anchors an image.
func BenchmarkLoss(b *testing.B) {
	size := Size{Batch: 4, Height: 1024, Width: 1024, Classes: 15}
	o := newObjective(b)
	outputs := randomOutputs[float32](1, size)
	targets := randomTargets(1, size, 1)
	for i := range targets {
		one := randomTargets(uint64(i), Size{Batch: 20, Height: 1024, Width: 1024, Classes: 15}, 1)
		targets[i] = Target{}
		for _, t := range one {
			targets[i].Labels = append(targets[i].Labels, t.Labels...)
			targets[i].Boxes = append(targets[i].Boxes, t.Boxes...)
			targets[i].Rotated = append(targets[i].Rotated, t.Rotated...)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Loss(o, outputs, size, targets, 0.5); err != nil {
			b.Fatal(err)
		}
	}
}

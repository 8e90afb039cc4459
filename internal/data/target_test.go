package data

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
)

func TestTargetValidate(t *testing.T) {
	require.NoError(t, Target{}.Validate())
	require.NoError(t, everyModality().Validate())
	cases := []struct {
		name   string
		damage func(*Target)
		want   string
	}{
		{"boxes", func(t *Target) { t.Boxes = nil }, "0 boxes for 1 labels"},
		{"polygons", func(t *Target) { t.Polygons = append(t.Polygons, nil) }, "2 polygons for 1 labels"},
		{"rotated", func(t *Target) { t.Rotated = append(t.Rotated, t.Rotated...) }, "2 rotated boxes"},
		{"difficult", func(t *Target) { t.Difficult = make([]bool, 3) }, "3 difficult flags"},
		{"negative label", func(t *Target) { t.Labels[0] = -1 }, "label -1 of instance 0 is negative"},
		{"visibility count", func(t *Target) { t.Visibility = nil }, "0 visibility lists for 1 keypoint lists"},
		{"visibility length", func(t *Target) { t.Visibility[0] = []uint8{1} }, "2 keypoints and 1 visibilities"},
		{"visibility value", func(t *Target) { t.Visibility[0][1] = 3 }, "visibility above 2"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			target := everyModality()
			c.damage(&target)
			require.ErrorContains(t, target.Validate(), c.want)
		})
	}
}

func TestTargetCloneIsDeep(t *testing.T) {
	original := everyModality()
	clone := original.Clone()
	require.Equal(t, original, clone)
	clone.Boxes[0].X1, clone.Labels[0], clone.Polygons[0][0].X, clone.Rotated[0].Angle = -1, 7, -1, 9
	clone.Difficult[0], clone.Keypoints[0][0].X, clone.Visibility[0][0] = false, -1, 0
	require.Equal(t, everyModality(), original)
}

func TestTargetFilter(t *testing.T) {
	joined, err := Concat(everyModality(), everyModality(), everyModality())
	require.NoError(t, err)
	joined.Labels = []int{4, 5, 6}
	keep := []bool{true, false, true}
	kept, err := joined.Filter(keep, keep)
	require.NoError(t, err)
	require.Equal(t, []int{4, 6}, kept.Labels)
	require.Len(t, kept.Rotated, 2)
	require.Len(t, kept.Polygons, 2)

	_, err = joined.Filter(keep, nil)
	require.ErrorContains(t, err, "filter of 3 and 0 flags")
	_, err = joined.Filter(keep, []bool{true, false, false})
	require.ErrorContains(t, err, "1 rotated boxes for 2 labels")

	plain := Target{Labels: []int{0}, Boxes: make([]geometry.Box, 1)}
	none, err := plain.Filter([]bool{false}, nil)
	require.NoError(t, err)
	require.Zero(t, none.Len())
}

func TestTargetConcat(t *testing.T) {
	plain := Target{Labels: []int{0}, Boxes: make([]geometry.Box, 1)}
	joined, err := Concat(Target{}, everyModality(), Target{})
	require.NoError(t, err)
	require.Equal(t, everyModality(), joined, "records without instances are neutral")

	_, err = Concat(everyModality(), plain)
	require.ErrorContains(t, err, "1 polygons for 2 labels")

	hard := plain.Clone()
	hard.Difficult = []bool{true}
	joined, err = Concat(plain, hard)
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, joined.Difficult, "missing flags are false")
}

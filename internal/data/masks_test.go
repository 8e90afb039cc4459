package data

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// The worked numbers of the data and evaluation specification, section 7, as
// rows of the pixels that are set; here the grid is the canvas.
func TestMaskWorkedNumbers(t *testing.T) {
	rectangle := func(x1, y1, x2, y2 float64) []geometry.Point {
		return []geometry.Point{{X: x1, Y: y1}, {X: x2, Y: y1}, {X: x2, Y: y2}, {X: x1, Y: y2}}
	}
	cases := []struct {
		ring          []geometry.Point
		width, height int
		want          []string
	}{
		{rectangle(1, 1, 4, 3), 5, 4, []string{".....", ".###.", ".###.", "....."}},
		{rectangle(0.5, 0.5, 3.5, 2.5), 5, 4, []string{".....", ".###.", ".###.", "....."}},
		{[]geometry.Point{{X: 1, Y: 1}, {X: 6, Y: 2}, {X: 3, Y: 5.5}}, 8, 7,
			[]string{"........", "........", "..####..", "..####..", "...##...", "...#....", "........"}},
	}
	for _, c := range cases {
		target := Target{Labels: []int{0}, Boxes: make([]geometry.Box, 1), Polygons: [][]geometry.Point{c.ring}}
		masks, err := InstanceMasks(target, c.width, c.height, c.width, c.height)
		require.NoError(t, err)
		require.Equal(t, c.want, rowsOf(masks[0]))
		// A canvas four times as large gives the same grid: the ring is scaled,
		// and the pixels are never resized.
		for i := range c.ring {
			c.ring[i].X, c.ring[i].Y = 4*c.ring[i].X, 4*c.ring[i].Y
		}
		masks, err = InstanceMasks(target, 4*c.width, 4*c.height, c.width, c.height)
		require.NoError(t, err)
		require.Equal(t, c.want, rowsOf(masks[0]))
	}
	_, err := InstanceMasks(Target{Labels: []int{0}, Boxes: make([]geometry.Box, 1)}, 8, 8, 2, 2)
	require.ErrorContains(t, err, "1 instances with 0 rings; masks need a data set of polygons")
}

func rowsOf(m *mask.Bitmap) []string {
	var rows []string
	for y := range m.Height {
		row := ""
		for x := range m.Width {
			row += map[bool]string{true: "#", false: "."}[m.At(y, x)]
		}
		rows = append(rows, row)
	}
	return rows
}

// Field case YO-04: the semantic target of an image without instances is 0.
func TestSemanticMap(t *testing.T) {
	require.Equal(t, make([]uint8, 2*2*2), SemanticMap(nil, nil, 2, 2, 2))

	one, two, other := mask.New(4, 4), mask.New(4, 4), mask.New(4, 4)
	one.Set(0, 0)
	two.Set(3, 2)
	other.Set(1, 3)
	got := SemanticMap([]*mask.Bitmap{one, two, other}, []int{1, 1, 0}, 3, 2, 2)
	require.Equal(t, []uint8{0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0}, got)

	// Three cells over four pixels: windows 0..1, 1..2 and 2..3 overlap, as
	// adaptive pooling has them.
	middle := mask.New(4, 1)
	middle.Set(0, 1)
	require.Equal(t, []uint8{1, 1, 0}, SemanticMap([]*mask.Bitmap{middle}, []int{0}, 1, 1, 3))
}

// Field cases YO-03, YO-05 and YO-07: batches without instances have masks of
// none, masks stay with their image behind empty ones, and no number of
// overlapping instances is too many.
func TestBatchesCarryMasks(t *testing.T) {
	directory := t.TempDir()
	for i := range 3 {
		name := fmt.Sprintf("image%d", i)
		writeImage(t, directory, "images/train/"+name+".png", size, size, i)
		rows := ""
		if i == 2 {
			for n := range 256 {
				a, b := float64(n)/600, 1-float64(n)/600
				rows += fmt.Sprintf("0 %v %v %v %v %v %v %v %v\n", a, a, b, a, b, b, a, b)
			}
		}
		writeFile(t, directory, "labels/train/"+name+".txt", rows)
	}
	writeFile(t, directory, "data.yaml", "train: images/train\nnames: [square]\n")
	dataset := openFolder(t, directory, "train", Options{Format: PolygonRows})
	loader := newLoader(t, dataset, ValidationPipeline(size), LoaderOptions{BatchSize: 3, Workers: 2, Masks: true})
	batch := collectBatches(t, loader, Position{}, 1)[0]
	require.Len(t, batch.Masks, 3)
	require.Empty(t, batch.Masks[0])
	require.Empty(t, batch.Masks[1])
	require.Len(t, batch.Masks[2], 256)
	for _, instance := range batch.Masks[2] {
		require.Equal(t, []int{size / 4, size / 4}, []int{instance.Width, instance.Height})
		require.Positive(t, instance.Area())
	}
	require.Equal(t, 64, batch.Masks[2][0].Area())

	boxes := writeFolder(t, 2)
	loader = newLoader(t, boxes, ValidationPipeline(size), LoaderOptions{BatchSize: 2, Workers: 1, Masks: true})
	for _, err := range loader.Stream(t.Context(), Position{}, 1) {
		require.ErrorContains(t, err, "image01.png: 1 instances with 0 rings; ")
	}
}

// Field case YO-07: each of 130 and of 256 nested squares on 256 px has a mask of
// its own, in the order of the rows, whatever lies over it: the side falls by one
// pixel from each to the next.
func TestNestedSquaresStayApart(t *testing.T) {
	const side = 256
	for _, count := range []int{130, 256} {
		directory := t.TempDir()
		writeImage(t, directory, "images/train/nested.png", side, side, 1)
		rows := ""
		for n := range count {
			a, b := float64(n)/(2*side), 1-float64(n)/(2*side)
			rows += fmt.Sprintf("0 %v %v %v %v %v %v %v %v\n", a, a, b, a, b, b, a, b)
		}
		writeFile(t, directory, "labels/train/nested.txt", rows)
		writeFile(t, directory, "data.yaml", "train: images/train\nnames: [square]\n")
		dataset := openFolder(t, directory, "train", Options{Format: PolygonRows})
		loader, err := NewLoader(dataset, ValidationPipeline(side), LoaderOptions{BatchSize: 1, Workers: 1, Width: side, Height: side, Masks: true})
		require.NoError(t, err)
		batch := collectBatches(t, loader, Position{}, 1)[0]
		require.Len(t, batch.Masks[0], count)

		masks, err := InstanceMasks(batch.Targets[0], side, side, side, side)
		require.NoError(t, err)
		for n, whole := range masks {
			require.Equal(t, (side-n)*(side-n), whole.Area(), "square %d", n)
			cells := (side-n)/8 + (side-n+4)/8
			require.InDelta(t, cells*cells, batch.Masks[0][n].Area(), float64(4*cells+4), "square %d on the grid of cells", n)
		}
	}
}

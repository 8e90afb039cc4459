package mask

import (
	"fmt"
	"math/bits"
)

// Bitmap is a binary mask of Width x Height pixels. Pixel (row, column) is bit
// row*Width+column.
type Bitmap struct {
	Width, Height int
	words         []uint64
}

// New returns an empty mask. Both sizes must be at least 0.
func New(width, height int) *Bitmap {
	return &Bitmap{Width: width, Height: height, words: make([]uint64, (width*height+63)/64)}
}

// Set adds the pixel, which must lie inside the mask.
func (b *Bitmap) Set(row, column int) {
	pixel := row*b.Width + column
	b.words[pixel/64] |= 1 << (pixel % 64)
}

// At reports whether the mask holds the pixel, which must lie inside.
func (b *Bitmap) At(row, column int) bool {
	pixel := row*b.Width + column
	return b.words[pixel/64]>>(pixel%64)&1 != 0
}

// Area is the number of pixels of the mask.
func (b *Bitmap) Area() int {
	area := 0
	for _, word := range b.words {
		area += bits.OnesCount64(word)
	}
	return area
}

// Add joins another mask of the same size to b, as the parts of one instance
// are joined. Masks of different sizes are an error.
func (b *Bitmap) Add(other *Bitmap) error {
	if err := b.sameSize(other); err != nil {
		return err
	}
	for i, word := range other.words {
		b.words[i] |= word
	}
	return nil
}

// Intersection is the number of pixels that both masks hold. Masks of different
// sizes are an error.
func (b *Bitmap) Intersection(other *Bitmap) (int, error) {
	if err := b.sameSize(other); err != nil {
		return 0, err
	}
	common := 0
	for i, word := range other.words {
		common += bits.OnesCount64(word & b.words[i])
	}
	return common, nil
}

func (b *Bitmap) sameSize(other *Bitmap) error {
	if b.Width != other.Width || b.Height != other.Height {
		return fmt.Errorf("masks of %d x %d and %d x %d pixels; masks meet on one canvas only", b.Width, b.Height, other.Width, other.Height)
	}
	return nil
}

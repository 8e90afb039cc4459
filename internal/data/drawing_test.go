package data

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// drawn is an image of the raster's codes.
func drawn(r *Raster) *Image {
	return &Image{Width: r.Width, Height: r.Height, codes: slices.Clone(r.Pixels)}
}

// The worked numbers of the data and evaluation specification, section 1.
func TestQuantiseWorkedNumbers(t *testing.T) {
	values := []float64{0.5, 114.0 / 255, 1.5 / 255, 2.5 / 255, 0.999, 0, 1}
	single := make([]float32, len(values))
	for i, value := range values {
		single[i] = float32(value)
	}
	codes := make([]uint8, len(values))
	quantise(codes, single)
	require.Equal(t, []uint8{128, 114, 2, 2, 255, 0, 255}, codes)
}

func TestQuantiseRestoresEveryCode(t *testing.T) {
	codes := make([]uint8, 256)
	quantise(codes, unit[:])
	for i, code := range codes {
		require.Equal(t, uint8(i), code)
	}
}

// Sums of weights may end up a little outside [0,1].
func TestQuantiseBeyondTheEnds(t *testing.T) {
	codes := make([]uint8, 2)
	quantise(codes, []float32{-1e-6, 1 + 1e-6})
	require.Equal(t, []uint8{0, 255}, codes)
}

// An image may be drawn before it is used as a part of another one, or with it.
func TestDrawingIsLazy(t *testing.T) {
	raster := rasterOf(drawing(20, 11, 3))
	lazy := NewLetterbox(20, 11, 24, 24).Image(raster)
	into := make([]uint8, 3*24*24)
	lazy.Draw(into)
	require.Nil(t, lazy.codes, "drawing elsewhere leaves nothing behind")
	codes := slices.Clone(lazy.Codes())
	require.Equal(t, into, codes)
	flipImage(lazy)
	lazy.Draw(into)
	require.NotEqual(t, into, codes)
	flipImage(lazy)
	require.Equal(t, codes, lazy.Codes())
	again := &Image{Width: 24, Height: 24, scene: lazy}
	require.Equal(t, codes, again.Codes())
}

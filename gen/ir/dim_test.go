package ir

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDimArithmeticPrintsAndReadsBack(t *testing.T) {
	m := Multiple{Height: 32, Width: 32}
	eighth := func(d Dim, k int) Dim {
		q, ok := d.Divide(k, m)
		require.True(t, ok)
		return q
	}
	anchors := eighth(H, 8).Mul(eighth(W, 8)).Add(eighth(H, 16).Mul(eighth(W, 16))).Add(eighth(H, 32).Mul(eighth(W, 32)))
	cases := []struct {
		dim  Dim
		text string
		at   int // value at 2 x 64 x 96
	}{
		{Const(0), "0", 0},
		{Const(3), "3", 3},
		{N, "N", 2},
		{eighth(H, 8), "H/8", 8},
		{anchors, "21*H*W/1024", 126},
		{H.Add(Const(1)).Sub(Const(3)), "H-2", 62},
		{N.Mul(H).Times(2).Sub(W), "2*N*H-W", 160},
	}
	for _, c := range cases {
		require.Equal(t, c.text, c.dim.String())
		back, err := ParseDim(c.text)
		require.NoError(t, err)
		require.True(t, back.Equal(c.dim), c.text)
		v, err := c.dim.Eval(Sizes{Batch: 2, Height: 64, Width: 96})
		require.NoError(t, err)
		require.Equal(t, c.at, v, c.text)
	}
}

func TestDimDivideNeedsTheMultiple(t *testing.T) {
	_, ok := H.Divide(2, Multiple{Height: 1, Width: 1})
	require.False(t, ok)
	_, ok = H.Divide(64, Multiple{Height: 32, Width: 32})
	require.False(t, ok)
	_, ok = Const(7).Divide(2, Multiple{})
	require.False(t, ok)
}

func TestDimEvalRefusesWhatIsNotASize(t *testing.T) {
	half, _ := H.Divide(2, Multiple{Height: 2})
	_, err := half.Eval(Sizes{Batch: 1, Height: 3, Width: 1})
	require.ErrorContains(t, err, "not a whole number")
	_, err = Const(-1).Eval(Sizes{})
	require.ErrorContains(t, err, "out of range")
	_, err = N.Mul(N).Mul(N).Eval(Sizes{Batch: 1 << 31})
	require.ErrorContains(t, err, "does not fit")
}

func TestParseDimRefusesDamage(t *testing.T) {
	for _, text := range []string{"", "X", "N/0", "3**H", "1/", "+", "N+", "99999999999"} {
		_, err := ParseDim(text)
		require.Error(t, err, text)
	}
}

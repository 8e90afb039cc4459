package ir_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

func arenaOf(places ...ir.Place) *ir.Stage {
	s := &ir.Stage{}
	for _, p := range places {
		s.AddStorage(ir.Storage{Space: ir.Arena, Elem: ir.Activation, Place: p})
	}
	return s
}

// A storage lies on what its place lies on, whatever their sizes; what does not
// belong to the stack stays where it is.
func TestStackKeepsTheOrderOfPlaces(t *testing.T) {
	s := arenaOf(ir.Place{From: 4, To: 6}, ir.Place{From: 0, To: 4}, ir.Place{From: 0, To: 2}, ir.Place{From: 2, To: 5}, ir.Place{From: 6, To: 7})
	s.AddStorage(ir.Storage{Space: ir.Arena, Elem: ir.Master, Place: ir.Place{From: 0, To: 9}})
	s.AddStorage(ir.Storage{Space: ir.Output, Elem: ir.Activation})
	offsets := []int64{0, 0, 0, 0, 0, -1, -1}
	end := s.Stack(ir.Activation, 8, 8, []int64{16, 30, 17, 24, 8, 100, 100}, offsets)
	require.Equal(t, []int64{40, 8, 8, 32, 56, -1, -1}, offsets)
	require.EqualValues(t, 64, end)
}

// Places of any kind: storages whose places do not meet share no byte, at any sizes;
// at the sizes of their places the stack is no higher than these; and in proportion to them
// it grows in proportion.
func TestStacksKeepStoragesApart(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + random.IntN(40)
		places := make([]ir.Place, n)
		sizes, some, double := make([]int64, n), make([]int64, n), make([]int64, n)
		top := 0
		for i := range places {
			from := random.IntN(100)
			places[i] = ir.Place{From: from, To: from + 1 + random.IntN(30)}
			sizes[i] = int64(places[i].To - from)
			double[i], some[i] = 2*sizes[i], random.Int64N(1000)
			top = max(top, places[i].To)
		}
		s, offsets := arenaOf(places...), make([]int64, n)
		end := s.Stack(ir.Activation, 0, 1, sizes, offsets)
		require.LessOrEqual(t, end, int64(top))
		require.Equal(t, 2*end, s.Stack(ir.Activation, 0, 1, double, offsets))
		end = s.Stack(ir.Activation, 0, 16, some, offsets)
		for i, a := range offsets {
			require.Zero(t, a%16)
			require.LessOrEqual(t, a+some[i], end)
			for j, b := range offsets[:i] {
				if !places[i].Meets(places[j]) {
					require.True(t, a+some[i] <= b || b+some[j] <= a, "%v at %d and %v at %d", places[i], a, places[j], b)
				}
			}
		}
	}
}

// A plan of the version before, whose storages have slots, and one without places
// are refused for what they are.
func TestDecodeRefusesStoragesWithoutPlaces(t *testing.T) {
	s := arenaOf(ir.Place{From: 2, To: 5})
	s.Format, s.Name = ir.FormatVersion, "network"
	good, err := ir.Encode(s)
	require.NoError(t, err)
	back, err := ir.Decode(good)
	require.NoError(t, err)
	require.Equal(t, ir.Place{From: 2, To: 5}, back.Storages[0].Place)
	for change, want := range map[[2]string]string{
		{`"from":2`, `"from":5`}:                  "storage 1 () has no place in the arena, from 5 to 5",
		{`"from":2`, `"from":-2`}:                 "from -2 to 5",
		{`"format":2`, `"format":1`}:              "has format 1, this version reads 2; run go generate again",
		{`"place":{"from":2,"to":5}`, `"slot":3`}: `unknown field "slot"`,
	} {
		_, err := ir.Decode([]byte(strings.Replace(string(good), change[0], change[1], 1)))
		require.ErrorContains(t, err, want)
	}
	old := strings.NewReplacer(`"place":{"from":2,"to":5}`, `"slot":3`, `"format":2`, `"format":1`).Replace(string(good))
	_, err = ir.Decode([]byte(old))
	require.ErrorContains(t, err, "run go generate again")
}

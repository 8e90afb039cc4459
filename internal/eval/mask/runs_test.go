package mask_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/mask"
)

func TestFromRunsGoesDownColumns(t *testing.T) {
	bitmap, err := mask.FromRuns([]int{1, 2, 3, 4, 2}, 4, 3)
	require.NoError(t, err)
	require.Equal(t, []string{"..#.", "#.#.", "#.#."}, rows(must(mask.FromRuns([]int{1, 2, 3, 3, 3}, 4, 3))))
	require.Equal(t, []string{"..##", "#.#.", "#.#."}, rows(bitmap))
	require.Equal(t, []string{"##"}, rows(must(mask.FromRuns([]int{0, 2}, 2, 1))))

	for _, test := range []struct {
		runs []int
		want string
	}{
		{[]int{1, 2}, "runs of 3 pixels for a mask of 4 x 3; correct the runs or the size of the mask"},
		{[]int{1, 12}, "run 1 of 12 pixels after 1 of a mask of 4 x 3; correct the runs or the size of the mask"},
		{[]int{-1, 13}, "run 0 of -1 pixels after 0 of a mask of 4 x 3; correct the runs or the size of the mask"},
	} {
		_, err := mask.FromRuns(test.runs, 4, 3)
		require.EqualError(t, err, test.want)
	}
}

func must(b *mask.Bitmap, err error) *mask.Bitmap {
	if err != nil {
		panic(err)
	}
	return b
}

// compress writes run lengths as COCO does.
func compress(runs []int) string {
	var text []byte
	for i, x := range runs {
		if i > 2 {
			x -= runs[i-2]
		}
		for more := true; more; {
			c := x & 0x1f
			x >>= 5
			more = x != 0 && c&0x10 == 0 || x != -1 && c&0x10 != 0
			if more {
				c |= 0x20
			}
			text = append(text, byte(c+48))
		}
	}
	return string(text)
}

func TestParseRuns(t *testing.T) {
	// 6, 1, 40 is 8 + 32*1; the fourth is 5 = 1 + 4 and the fifth 8 = 40 - 32.
	runs, err := mask.ParseRuns("61X14PO")
	require.NoError(t, err)
	require.Equal(t, []int{6, 1, 40, 5, 8}, runs)

	random := rand.New(rand.NewPCG(16, 1))
	for range 200 {
		var want []int
		for range 1 + random.IntN(12) {
			want = append(want, random.IntN([]int{4, 40, 3000, 400000}[random.IntN(4)]))
		}
		got, err := mask.ParseRuns(compress(want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}

	_, err = mask.ParseRuns("6 1")
	require.EqualError(t, err, `run lengths: letter ' ' at 1 is not part of a number; give the compressed counts of COCO`)
	_, err = mask.ParseRuns("6P")
	require.EqualError(t, err, `run lengths: the text "6P" ends inside a number; give it whole`)
	_, err = mask.ParseRuns("PPPPPPPP")
	require.ErrorContains(t, err, "at 7 is not part of a number")
}

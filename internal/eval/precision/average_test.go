package precision

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// curveFrom builds the curve of detections in score order: T for a true and F
// for a false positive.
func curveFrom(sequence string, positives int) []CurvePoint {
	t := tally{positives: []int{positives}}
	for i, letter := range sequence {
		v := verdict{score: 1 - float64(i)/1000}
		if letter == 'T' {
			v.hit = 1
		}
		t.add([]verdict{v})
	}
	t.sort()
	return t.curve(0, Unlimited, positives)
}

// The average precisions of section 9.1.
func TestAveragePrecisionWorkedSequences(t *testing.T) {
	for _, test := range []struct {
		sequence  string
		positives int
		want      float64
	}{
		{"T", 2, 0.504950495},
		{"TFTFFT", 4, 0.54620462},
		{"FTT", 3, 0.442244224},
		{"TTTTTTTTTTTTTFFF", 20, 66.0 / 101},
		{"T", 1, 1},
		{"", 3, 0},
		{"FF", 3, 0},
	} {
		t.Run(test.sequence, func(t *testing.T) {
			require.InDelta(t, test.want, averagePrecision(curveFrom(test.sequence, test.positives), test.positives), 5e-10)
		})
	}
}

// 13 of 20 reach the recall 0.65 exactly, which 0.65 as a float32 would miss.
func TestRecallGridIsExact(t *testing.T) {
	require.InDelta(t, 0.653465347, averagePrecision(curveFrom("TTTTTTTTTTTTTFFF", 20), 20), 5e-10)
	for hits := range 101 {
		points := []CurvePoint{{Precision: 1, Hits: hits}}
		require.Equal(t, float64(hits+1)/101, averagePrecision(points, 100))
	}
}

// At every recall the definition asks for the best precision among the points
// that reach it.
func TestAveragePrecisionEqualsDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 1))
	for range 300 {
		sequence := make([]byte, random.IntN(60))
		hits := 0
		for i := range sequence {
			sequence[i] = "TF"[random.IntN(2)]
			if sequence[i] == 'T' {
				hits++
			}
		}
		positives := max(1, hits+random.IntN(30))
		want := 0.0
		for k := range 101 {
			best, found := 0.0, 0
			for i, letter := range sequence {
				if letter == 'T' {
					found++
				}
				if found*100 >= k*positives {
					best = max(best, float64(found)/float64(i+1))
				}
			}
			want += best / 101
		}
		require.InDelta(t, want, averagePrecision(curveFrom(string(sequence), positives), positives), 1e-12)
	}
}

func TestThresholdsAreNearestDecimals(t *testing.T) {
	want := []float64{0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95}
	for index, value := range want {
		require.Equal(t, value, threshold(index))
	}
	require.Len(t, want, thresholds)
	require.Equal(t, 0.75, threshold(at75))
}

func TestAreaRanges(t *testing.T) {
	for _, test := range []struct {
		area                 float64
		small, medium, large bool
	}{
		{1023.9, true, false, false}, {1024, false, true, false},
		{9216, false, true, false}, {9216.1, false, false, true},
	} {
		require.True(t, AllAreas.holds(test.area))
		require.Equal(t, []bool{test.small, test.medium, test.large},
			[]bool{Small.holds(test.area), Medium.holds(test.area), Large.holds(test.area)})
	}
}

package networks

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A generated package and the definition it came from must give one plan: this
// is what makes tests in memory speak for generated code.
func TestGeneratedPlansEqualPlansInMemory(t *testing.T) {
	for want, shipped := range packages() {
		definitions, err := definitionsOf(want)
		require.NoError(t, err, want)
		require.Len(t, shipped, len(definitions), "%v: a plan for every stage", want)
		for _, d := range definitions {
			require.Contains(t, shipped, d.Name(), want)
			generated, err := shipped[d.Name()]()
			require.NoError(t, err, want)
			built, err := inMemory(d)()
			require.NoError(t, err, want)
			require.Equal(t, built.Digest, generated.Digest, "%v, stage %s: run go generate ./...", want, d.Name())
		}
	}
}

func TestFindNamesTheNearest(t *testing.T) {
	plans, err := Find(Want{Task: "obb", Scale: "t", Classes: 6})
	require.NoError(t, err)
	require.Len(t, plans, 1)
	plan, err := plans[0]()
	require.NoError(t, err)
	require.Equal(t, "network", plan.Name)

	_, err = Find(Want{Task: "obb", Scale: "q", Classes: 15})
	require.ErrorContains(t, err, `unknown scale "q"`)
	_, err = Find(Want{Task: "oob", Scale: "n", Classes: 15})
	require.ErrorContains(t, err, "did you mean obb")
}

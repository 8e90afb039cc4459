package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

func TestAddFromAnotherLayout(t *testing.T) {
	p := newPlan()
	shape := []int{2, 8, 4, 4}
	p.float("sum", dense, shape...)
	p.view("channels last", ir.Activation, 0, shape, []int{128, 1, 32, 8}, 256)
	p.float("smaller", dense, 2, 8, 4, 3)
	p.tensor("index", ir.Index, dense, shape...)
	b := p.bind(t, device.FP32)
	first, second := random(1, 256), random(2, 256)
	b.write("sum", first)
	b.write("channels last", second)
	require.NoError(t, b.tensor("sum").Add(b.tensor("channels last")))
	for i, got := range b.read("sum") {
		require.Equal(t, float64(float32(first[i])+float32(second[i])), got, i)
	}
	require.Equal(t, second, b.read("channels last"), "what is added is left alone")
	require.ErrorContains(t, b.tensor("sum").Add(b.tensor("smaller")), "of shape [2 8 4 4] cannot be copied from smaller of shape [2 8 4 3]")
	require.ErrorContains(t, b.tensor("sum").Add(b.tensor("index")), "holds float32 on the host")
	require.ErrorContains(t, b.tensor("sum").Add(nil), "nothing to copy from")
	b.close()
}

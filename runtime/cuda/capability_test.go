//go:build cuda

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTarget(t *testing.T) {
	all := []string{"sm_80", "sm_90", "compute_80"}
	for _, c := range []struct {
		device  capability
		targets []string
		want    string
	}{
		{capability{9, 0}, all, "sm_90"},
		{capability{8, 0}, all, "sm_80"},
		{capability{8, 9}, all, "sm_80"},
		{capability{8, 9}, []string{"sm_80", "sm_86", "compute_80"}, "sm_86"},
		{capability{8, 0}, []string{"sm_86", "compute_80"}, "compute_80"},
		{capability{10, 0}, all, "compute_80"},
		{capability{9, 0}, []string{"compute_80"}, "compute_80"},
	} {
		got, err := c.device.target(c.targets)
		require.NoError(t, err)
		require.Equal(t, c.want, got, c)
	}
	_, err := capability{9, 2}.target([]string{"sm_80"})
	require.ErrorContains(t, err, "no code for compute capability 9.2; build it with -targets sm_92, or with compute_80")
	_, err = capability{7, 5}.target(all)
	require.ErrorContains(t, err, "capability is 7.5; 8.0 is the least")
}

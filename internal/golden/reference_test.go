package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// referenceVariable names the directory of the full reference files, which are
// too large to keep beside the code.
const referenceVariable = "REPRISE_GOLDEN"

// Every full reference file reads, and every target in it is built exactly.
func TestFullReferences(t *testing.T) {
	directory := os.Getenv(referenceVariable)
	if directory == "" {
		t.Skipf("set %s to the directory of the full reference files", referenceVariable)
	}
	cases, err := filepath.Glob(filepath.Join(directory, "*-seed11.json"))
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, path := range cases {
		_, err := ReadCase(path)
		require.NoError(t, err)
	}
	trajectories, err := filepath.Glob(filepath.Join(directory, "trajectory-*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, trajectories)
	for _, path := range trajectories {
		trajectory, err := ReadTrajectory(path)
		require.NoError(t, err)
		for step, images := range trajectory.Targets {
			for image, want := range images {
				got := trajectory.Setting.Target(step, image)
				require.True(t, want.Equal(got), "%s: step %d, image %d: want %v, got %v", path, step, image, want, got)
				require.Len(t, got.Labels, trajectory.Steps[step].Objects[image])
			}
		}
	}
}

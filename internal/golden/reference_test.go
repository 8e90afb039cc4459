package golden

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// references is the directory of the full reference files.
const references = "../verify/testdata"

// Every full reference file reads, and every target in it is built exactly.
func TestFullReferences(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(references, "[dops]*-t.json"))
	require.NoError(t, err)
	require.Len(t, cases, 4)
	for _, path := range cases {
		_, err := ReadCase(path)
		require.NoError(t, err)
	}
	trajectories, err := filepath.Glob(filepath.Join(references, "trajectory-*.json"))
	require.NoError(t, err)
	require.Len(t, trajectories, 4)
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

//go:build cuda

package cudasim_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/cudasim"
)

var digestLine = regexp.MustCompile(`digest ([0-9a-f]{64})`)

// TestTrialDigest is what TestShuffledOrder runs in processes of their own: the
// order is chosen once in a process.
func TestTrialDigest(t *testing.T) {
	needSimulator(t)
	before := cudasim.Calls("cuGraphLaunch")
	out, err := short.run(openCUDA)
	require.NoError(t, err)
	require.Positive(t, out.report.Replayed)
	// What the fit says of itself is what the driver saw: two passes a step.
	require.Equal(t, 2*out.report.Replayed, cudasim.Calls("cuGraphLaunch")-before, "launches of recordings")
	t.Log("digest", out.digest)
	sound(t)
}

// The bytes of a fit do not depend on the order of blocks, threads, streams and
// nodes of a recording, as far as barriers and events leave it open.
func TestShuffledOrder(t *testing.T) {
	needSimulator(t)
	var want string
	for _, order := range []string{"fixed", "1", "2"} {
		command := exec.Command(os.Args[0], "-test.run=^TestTrialDigest$", "-test.v")
		command.Env = append(os.Environ(), "CUDASIM_ORDER="+order)
		out, err := command.CombinedOutput()
		require.NoError(t, err, "order %s:\n%s", order, out)
		digest := digestLine.FindSubmatch(out)
		require.NotNil(t, digest, "order %s:\n%s", order, out)
		if want == "" {
			want = string(digest[1])
		}
		require.Equal(t, want, string(digest[1]), "order %s", order)
	}
}

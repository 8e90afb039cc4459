package run_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// childKey holds, in the environment of a child process, the arguments of a train
// command in lines.
const childKey = "REPRISE_TEST_TRAIN"

// TestMain trains instead of testing in a child process.
func TestMain(m *testing.M) {
	arguments, isChild := os.LookupEnv(childKey)
	if !isChild {
		os.Exit(m.Run())
	}
	if err := trainWith(context.Background(), os.Stdout, os.Stderr, strings.Split(arguments, "\n")...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child trains in a process of its own, waits until it has told the end of that
// many epochs and until wait returns, and kills it as kill -9 does. It reports
// whether the process came to its end before.
func child(t *testing.T, epochs int, wait func(), args ...string) (ended bool) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childKey+"="+strings.Join(args, "\n"))
	progress, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	var told []string
	lines := bufio.NewScanner(progress)
	for len(told) < epochs && lines.Scan() {
		told = append(told, lines.Text())
	}
	if len(told) == epochs {
		wait()
		require.NoError(t, command.Process.Kill())
	}
	_, err = io.Copy(io.Discard, progress)
	require.NoError(t, err)
	err = command.Wait()
	if len(told) < epochs {
		require.NoError(t, err, strings.Join(told, "\n"))
	}
	return err == nil
}

// saving waits until a checkpoint is being written in a folder, whatever the file
// is called meanwhile, or for as long as a fit may take to come to that.
func saving(t *testing.T, dir string) {
	t.Helper()
	state := func() (text string) {
		files, err := filepath.Glob(filepath.Join(dir, "*"+trainer.CheckpointName+"*"))
		require.NoError(t, err)
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				text += fmt.Sprintln(file, info.Size(), info.ModTime().UnixNano())
			}
		}
		return text
	}
	before := state()
	for deadline := time.Now().Add(5 * time.Second); state() == before && time.Now().Before(deadline); {
		time.Sleep(100 * time.Microsecond)
	}
}

// A process that is killed at any of ten moments leaves a whole checkpoint or
// none, from which the fit goes on to the bytes of the unbroken one; what was left
// of an unfinished checkpoint is gone at the end.
func TestKilledFitResumes(t *testing.T) {
	const epochs, kills = 11, 10
	dataFile, dir := scenery(t), t.TempDir()
	unbroken, broken := filepath.Join(dir, "unbroken"), filepath.Join(dir, "broken")
	long := fmt.Sprintf("--trainer.max_epochs=%d", epochs)
	_, _, err := train(t.Context(), usual(dataFile, unbroken, long)...)
	require.NoError(t, err)

	file := filepath.Join(broken, trainer.CheckpointName)
	args := func() []string {
		list := usual(dataFile, broken, long)
		if _, err := os.Stat(file); err == nil {
			list = append(list, "--run.resume="+file)
		}
		return list
	}
	random := rand.New(rand.NewPCG(6, 4))
	killed := 0
	for n := range kills {
		told, wait := 0, func() { time.Sleep(time.Duration(random.Float64() * float64(time.Second))) }
		if n%2 == 1 { // every other one when the checkpoint of an epoch is written
			told, wait = 1, func() {
				saving(t, broken)
				time.Sleep(time.Duration(random.Float64() * float64(time.Millisecond)))
			}
		}
		if !child(t, told, wait, args()...) {
			killed++
		}
		if _, err := os.Stat(file); err == nil {
			_, err := checkpoint.Load(file)
			require.NoError(t, err, "kill %d", n)
		}
	}
	require.GreaterOrEqual(t, killed, kills/2)
	_, _, err = train(t.Context(), args()...)
	require.NoError(t, err)
	want, got := folder(t, unbroken), folder(t, broken)
	for _, name := range []string{trainer.CheckpointName, trainer.LossesName} {
		require.True(t, want[name] == got[name], name)
	}
	for name := range got {
		require.False(t, strings.HasPrefix(name, "."), name)
	}
}

// A fit removes unfinished checkpoints from its folder, says so, and touches no
// other file.
func TestLeftoversAreRemoved(t *testing.T) {
	dir := t.TempDir()
	left, kept := []string{"0", "4611686018427387904"}, []string{"", ".bak", "7x"}
	for _, ending := range append(left, kept...) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "."+trainer.CheckpointName+ending), []byte("half"), 0o644))
	}
	_, progress, err := train(t.Context(), usual(scenery(t), dir, "-stop-after=1")...)
	require.NoError(t, err)
	files := folder(t, dir)
	for _, ending := range left {
		require.NotContains(t, files, "."+trainer.CheckpointName+ending)
		require.Contains(t, progress, "removed ."+trainer.CheckpointName+ending+", an unfinished checkpoint of a fit that was killed\n")
	}
	for _, ending := range kept {
		require.Contains(t, files, "."+trainer.CheckpointName+ending)
	}
}

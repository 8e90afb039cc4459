package commit_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/commit"
)

// Field case CG-10: an output folder of mode 555 is one clear error and stays
// as it was, whether it is new or holds an earlier package.
func TestAReadOnlyFolder(t *testing.T) {
	for _, existing := range []bool{false, true} {
		dir := t.TempDir()
		if existing {
			write(t, dir, files(t, "a_gen.go", "1"))
		}
		c, err := commit.Compare(dir, definitions, files(t, "a_gen.go", "2", "b_gen.go", "3"))
		require.NoError(t, err)
		before, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(dir, 0o555))
		asNobody(t, dir, func() { err = c.Write() })
		require.ErrorContains(t, err, dir)
		require.ErrorContains(t, err, "-out")
		after, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Equal(t, len(before), len(after))
		require.NoError(t, os.Chmod(dir, 0o755))
	}
}

// asNobody makes file access of f subject to permissions, which do not hold for
// the superuser.
func asNobody(t *testing.T, dir string, f func()) {
	t.Helper()
	const nobody = 65534
	if os.Geteuid() != 0 {
		f()
		return
	}
	for parent := filepath.Dir(dir); parent != filepath.Clean(os.TempDir()) && parent != filepath.Dir(parent); parent = filepath.Dir(parent) {
		if info, err := os.Stat(parent); err == nil && info.Mode().Perm()&0o005 != 0o005 {
			require.NoError(t, os.Chmod(parent, info.Mode().Perm()|0o005))
		}
	}
	runtime.LockOSThread() // the identity is that of the thread
	require.NoError(t, syscall.Setfsuid(nobody))
	f()
	require.NoError(t, syscall.Setfsuid(0))
	runtime.UnlockOSThread()
}

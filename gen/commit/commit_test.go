package commit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/commit"
	"github.com/reprise-ml/reprise/gen/emit"
)

var definitions = []string{"example.com/task"}

// files makes a generated package of the given contents by name, with its
// manifest.
func files(t *testing.T, pairs ...string) []emit.File {
	t.Helper()
	var out []emit.File
	listed := ""
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, emit.File{Name: pairs[i], Data: []byte("// " + emit.Header + "\n\n" + pairs[i+1] + "\n")})
		listed += `{"name":"` + pairs[i] + `"},`
	}
	manifest := `{"generated":"` + emit.Header + `","definitions":["example.com/task"],"files":[` + strings.TrimSuffix(listed, ",") + "]}\n"
	return append(out, emit.File{Name: emit.ManifestName, Data: []byte(manifest)})
}

func write(t *testing.T, dir string, files []emit.File) {
	t.Helper()
	c, err := commit.Compare(dir, definitions, files)
	require.NoError(t, err)
	require.NoError(t, c.Write())
}

func stale(t *testing.T, dir string, files []emit.File) []string {
	t.Helper()
	c, err := commit.Compare(dir, definitions, files)
	require.NoError(t, err)
	names := []string{}
	for _, f := range c.Files {
		names = append(names, f.Name)
	}
	return names
}

// Field case CG-05: CRLF is no difference, one digit is, and it is named.
func TestLineEndsDoNotCountButADigitDoes(t *testing.T) {
	dir := t.TempDir()
	all := files(t, "a_gen.go", "one 1", "b_gen.go", "two 2")
	write(t, dir, all)
	for _, f := range all {
		crlf := strings.ReplaceAll(string(f.Data), "\n", "\r\n")
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), []byte(crlf), 0o644))
	}
	require.Empty(t, stale(t, dir, all))
	path := filepath.Join(dir, "b_gen.go")
	require.NoError(t, os.WriteFile(path, []byte("// "+emit.Header+"\r\n\r\ntwo 3\r\n"), 0o644))
	c, err := commit.Compare(dir, definitions, all)
	require.NoError(t, err)
	require.Equal(t, []string{path + " is stale"}, c.Names())
	require.Contains(t, c.Diff(), "-two 3\n+two 2\n")
	require.Contains(t, c.Diff(), "b_gen.go")
}

// Field case CG-20: what has not changed keeps its time, a second run touches
// nothing, and what is no longer generated goes.
func TestOnlyChangesAreWritten(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files(t, "a_gen.go", "1", "b_gen.go", "2", "c_gen.go", "3"))
	own := filepath.Join(dir, "hand.go")
	require.NoError(t, os.WriteFile(own, []byte("package task\n"), 0o644))
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, name := range []string{"a_gen.go", "b_gen.go", "c_gen.go", emit.ManifestName, "hand.go"} {
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
	next := files(t, "a_gen.go", "1", "b_gen.go", "20")
	require.Equal(t, []string{"b_gen.go", "c_gen.go", emit.ManifestName}, stale(t, dir, next))
	write(t, dir, next)
	require.True(t, modified(t, dir, "a_gen.go").Equal(old))
	require.True(t, modified(t, dir, "hand.go").Equal(old))
	require.False(t, modified(t, dir, "b_gen.go").Equal(old))
	require.NoFileExists(t, filepath.Join(dir, "c_gen.go"))
	require.Empty(t, stale(t, dir, next))
}

func modified(t *testing.T, dir, name string) time.Time {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, name))
	require.NoError(t, err)
	return info.ModTime()
}

// Field case CG-20: a run that ends after any of its files leaves whole files
// and is seen as stale; the next run completes it.
func TestAnInterruptedRunIsStale(t *testing.T) {
	before := files(t, "a_gen.go", "1", "b_gen.go", "2", "c_gen.go", "3", "d_gen.go", "4", "e_gen.go", "5")
	after := files(t, "a_gen.go", "10", "b_gen.go", "20", "c_gen.go", "30", "f_gen.go", "40", "e_gen.go", "50")
	for stop := range 6 {
		dir := t.TempDir()
		write(t, dir, before)
		c, err := commit.Compare(dir, definitions, after)
		require.NoError(t, err)
		require.Len(t, c.Files, 7)
		require.Equal(t, emit.ManifestName, c.Files[6].Name)
		c.Files = c.Files[:stop+1] // what had taken its place when the run ended
		require.NoError(t, c.Write())
		for _, name := range stale(t, dir, after) {
			require.NotContains(t, names(c), name)
		}
		require.Contains(t, stale(t, dir, after), emit.ManifestName)
		write(t, dir, after)
		require.Empty(t, stale(t, dir, after))
		require.NoFileExists(t, filepath.Join(dir, "d_gen.go"))
	}
}

func names(c commit.Changes) []string {
	var out []string
	for _, f := range c.Files {
		out = append(out, f.Name)
	}
	return out
}

func TestWhatIsInTheWayIsLeftAlone(t *testing.T) {
	all := files(t, "a_gen.go", "1", "b_gen.go", "2")
	for name, prepare := range map[string]func(dir string) error{
		"a file of the author": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "b_gen.go"), []byte("package task\n"), 0o644)
		},
		"a manifest of another tool": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, emit.ManifestName), []byte(`{"name":"app"}`), 0o644)
		},
		"a folder": func(dir string) error { return os.Mkdir(filepath.Join(dir, "b_gen.go"), 0o755) },
		"another package": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, emit.ManifestName), []byte(`{"generated":"`+emit.Header+`","definitions":["example.com/other"]}`), 0o644)
		},
		"a manifest that points outside": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, emit.ManifestName), []byte(`{"generated":"`+emit.Header+`","files":[{"name":"../up.go"}]}`), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, prepare(dir))
			before, err := os.ReadDir(dir)
			require.NoError(t, err)
			_, err = commit.Compare(dir, definitions, all)
			require.ErrorContains(t, err, dir)
			after, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, after, len(before))
		})
	}
}

// A failure while files take their places brings back what was there.
func TestAFailedWriteChangesNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files(t, "a_gen.go", "1", "b_gen.go", "2"))
	c, err := commit.Compare(dir, definitions, files(t, "a_gen.go", "10", "b_gen.go", "20", "c_gen.go", "30"))
	require.NoError(t, err)
	// Something comes in the way between comparing and writing.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "c_gen.go", "x"), 0o755))
	err = c.Write()
	require.ErrorContains(t, err, "nothing was changed")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "c_gen.go")))
	require.Empty(t, stale(t, dir, files(t, "a_gen.go", "1", "b_gen.go", "2")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3)
}

// Field case CG-10: an output folder that cannot be made is one error.
func TestAFileInTheWayOfTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(dir, nil, 0o644))
	_, err := commit.Compare(filepath.Join(dir, "out"), definitions, files(t, "a_gen.go", "1"))
	require.Error(t, err)
	require.False(t, errors.Is(err, os.ErrNotExist))
}

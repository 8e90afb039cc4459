package mutation

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var asked = flag.Bool("mutation", false, "take every mechanism away in turn and run its test, which takes about half an hour of a core")

// root is the folder of the module.
const root = "../.."

// Each mechanism of the table is where the table says, so that TestEveryTestFails
// takes away what it means to.
func TestMechanismsAreFound(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutations {
		text, err := os.ReadFile(filepath.Join(root, m.file))
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), m.old), "%s: %q in %s", m.name, m.old, m.file)
		require.False(t, names[m.name], m.name)
		names[m.name] = true
	}
}

// Contract section 5: each test fails when its mechanism is taken away. The
// changed file is laid over the source, which stays as it is.
func TestEveryTestFails(t *testing.T) {
	if !*asked {
		t.Skip("takes long; give -mutation, or use make test-mutation")
	}
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			output, err := m.run(t)
			failed := (*exec.ExitError)(nil)
			require.True(t, errors.As(err, &failed), "%s passes without it: %v\n%s", m.test, err, output)
			require.NotContains(t, output, "[build failed]")
			require.True(t, strings.Contains(output, "--- FAIL: ") || strings.Contains(output, "panic: "), output)
			for line := range strings.Lines(output) {
				if strings.Contains(line, "--- FAIL: ") || strings.HasPrefix(line, "panic: ") {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
}

// run tests with the mechanism taken away.
func (m mutation) run(t *testing.T) (string, error) {
	t.Helper()
	base, err := filepath.Abs(root)
	require.NoError(t, err)
	original := filepath.Join(base, m.file)
	text, err := os.ReadFile(original)
	require.NoError(t, err)
	folder := t.TempDir()
	changed := filepath.Join(folder, filepath.Base(m.file))
	require.NoError(t, os.WriteFile(changed, bytes.Replace(text, []byte(m.old), []byte(m.new), 1), 0o644))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	require.NoError(t, err)
	file := filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o644))
	command := exec.Command("go", "test", "-overlay="+file, "-vet=off", "-run="+m.test, m.pkg)
	command.Dir = base
	output, err := command.CombinedOutput()
	return string(output), err
}

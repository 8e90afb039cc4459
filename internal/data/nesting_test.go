package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Text that would lead the parser deep is refused with its line before it is
// parsed; a long list of names, in any form, is not.
func TestTooDeep(t *testing.T) {
	for name, unit := range map[string]string{
		"brackets": "[", "braces": "{a: ", "dashes": "- ", "keys": "? ", "colons": "a: ", "tags": "!a ", "anchors": "&a ", "both": "- ? [",
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := parseConfig("data.yaml", []byte("names: [a]\n"+strings.Repeat(unit, 50000/len(unit))))
			require.EqualError(t, err, "data.yaml:2: nested more than 100 deep; write the keys names, train and val")
			require.Less(t, time.Since(began), 10*time.Second)
		})
	}
	for name, text := range map[string]string{
		"flow":    "names: [" + strings.Repeat("'[{', ", 3000) + "b]\n",
		"block":   "names:\n" + strings.Repeat("- \"a - b: [\"\n", 3000),
		"mapping": "names: {0: a, 1: b}\nskeleton: [" + strings.Repeat("[1, 2], ", 3000) + "]\n",
	} {
		t.Run(name, func(t *testing.T) { require.Zero(t, tooDeep(text)) })
	}
}

func TestConfigFileTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.yaml")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, mostConfigBytes+1))
	_, err := ReadConfig(path)
	require.EqualError(t, err, path+": larger than 1048576 bytes; give the path of a data set's yaml file")
}

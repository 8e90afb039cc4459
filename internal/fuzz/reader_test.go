package fuzz

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/emit"
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/fuzz/allocation"
)

// source is the generated package that the readers' targets start from.
const source = "../testscale/small"

func seeds(f *testing.F, pattern string) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join(source, pattern))
	require.NoError(f, err)
	require.NotEmpty(f, paths)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
}

// FuzzDecodePlan reads plans. A plan that is accepted has a digest and prints to
// the same plan again.
func FuzzDecodePlan(f *testing.F) {
	seeds(f, "*_plan.json")
	f.Add([]byte(`{"format":2,"name":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var plan *ir.Stage
		var err error
		allocation.AtMost(t, allocation.PerByte, len(data), func() { plan, err = ir.Decode(data) })
		if err != nil {
			return
		}
		first, err := ir.Digest(plan)
		require.NoError(t, err)
		printed, err := ir.Encode(plan)
		require.NoError(t, err)
		again, err := ir.Decode(printed)
		require.NoError(t, err)
		second, err := ir.Digest(again)
		require.NoError(t, err)
		require.Equal(t, first, second)
	})
}

// FuzzReadManifest reads manifests, of which the next generation trusts the names
// of files to remove.
func FuzzReadManifest(f *testing.F) {
	seeds(f, emit.ManifestName)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		allocation.AtMost(t, allocation.PerByte, len(data), func() {
			m, err := emit.ReadManifest(data)
			if err == nil {
				require.Equal(t, emit.Header, m.Generated)
			}
		})
	})
}

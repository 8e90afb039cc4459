package gen_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen"
)

// BenchmarkNano measures a whole generation of the oriented-box network at nano
// scale, the go command included: under a second once everything is built.
func BenchmarkNano(b *testing.B) {
	out := filepath.Join(b.TempDir(), "obb")
	for b.Loop() {
		_, err := gen.Plan(context.Background(), gen.Config{Dir: "..", Patterns: []string{"./tasks/obb"}, Out: out})
		require.NoError(b, err)
	}
}

package cuda

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/templates"
)

// Generated wrappers carry the header that this package is compiled with.
func TestContextHeader(t *testing.T) {
	want, err := templates.Context()
	require.NoError(t, err)
	got, err := os.ReadFile("reprise_context.h")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "copy templates/wrap/context.h here")
}

package allocation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// recorded is a test that remembers whether it failed.
type recorded struct {
	testing.TB
	failed bool
}

func (r *recorded) Helper()               {}
func (r *recorded) Errorf(string, ...any) { r.failed = true }
func (r *recorded) FailNow()              { r.failed = true }

var kept []byte

// What is allocated and dropped again counts, and what stays below the bound passes.
func TestAtMost(t *testing.T) {
	for _, c := range []struct {
		bytes, allocate int
		fails           bool
	}{
		{0, 1 << 10, false},
		{0, 2 * Fixed, true},
		{1 << 10, Fixed, false},
		{1 << 10, Fixed + 2<<10*PerByte, true},
	} {
		r := &recorded{TB: t}
		AtMost(r, PerByte, c.bytes, func() { kept = make([]byte, c.allocate); kept = nil })
		require.Equal(t, c.fails, r.failed, "%+v", c)
	}
}

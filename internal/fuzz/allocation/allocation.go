// Package allocation bounds what readers of files take from memory, for tests.
package allocation

import (
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"
)

// PerByte is what a reader of text may allocate for each byte of its input, all
// copies on the way included. An empty object of three bytes may become a
// structure of hundreds, in a slice that has grown several times.
const PerByte = 4 << 10

// Fixed is what a reader may allocate whatever its input: buffers, tables, and
// what the counter does not resolve.
const Fixed = 2 << 20

// AtMost runs read on an input of that many bytes and fails the test when more
// has been allocated than perByte for each of them and Fixed. What was freed
// again counts as well, so that a large piece of memory is seen however short its
// life. Other goroutines must be idle.
func AtMost(t testing.TB, perByte, bytes int, read func()) {
	t.Helper()
	before := allocated()
	read()
	used, bound := allocated()-before, uint64(Fixed+perByte*bytes)
	require.LessOrEqual(t, used, bound, "an input of %d bytes made its reader allocate %d bytes", bytes, used)
}

// allocated is what the process has allocated on the heap since it began.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

package verify

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"

	"github.com/reprise-ml/reprise/runtime/device"
)

// digest identifies a fit by every bit of its tensors.
type digest struct{ hash hash.Hash }

func newDigest() digest { return digest{sha256.New()} }

func (d digest) sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// addTensor adds the bits of a tensor. An absent one is another thing than an
// empty one and than zeros.
func addTensor[T device.Float](d digest, kind, name string, values []T) {
	// A hash takes every byte without an error.
	fmt.Fprintf(d.hash, "%s %s %t %d\n", kind, name, values != nil, len(values))
	bits := make([]byte, 8*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint64(bits[8*i:], math.Float64bits(float64(v)))
	}
	d.hash.Write(bits)
}

package data

import (
	"encoding/binary"
	"math/rand/v2"
)

// purpose keeps the streams of different uses of one seed apart.
type purpose uint64

const (
	purposeOrder purpose = iota + 1
	purposeAugment
)

// stream is the generator of one (seed, purpose, epoch, index). The four numbers
// are the key of a ChaCha8 cipher, so no two streams share a sequence and any
// stream can be made without drawing from another: content cannot depend on
// which worker draws first.
func stream(seed uint64, use purpose, epoch, index int) *rand.Rand {
	var key [32]byte
	for i, word := range [4]uint64{seed, uint64(use), uint64(epoch), uint64(index)} {
		binary.LittleEndian.PutUint64(key[8*i:], word)
	}
	return rand.New(rand.NewChaCha8(key))
}

// epochOrder is the order of count images in an epoch. It depends on nothing
// else, so a fit resumes at any epoch and batch.
func epochOrder(seed uint64, epoch, count int, shuffle bool) []int {
	if shuffle {
		return stream(seed, purposeOrder, epoch, 0).Perm(count)
	}
	order := make([]int, count)
	for i := range order {
		order[i] = i
	}
	return order
}

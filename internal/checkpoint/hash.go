package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
)

// Hashes identify the results of a fit, one SHA-256 in hexadecimal per family.
// Two fits are equal byte for byte when all five are.
type Hashes struct {
	Model     string `json:"model"`
	Optimizer string `json:"optimizer"`
	Schedule  string `json:"schedule"`
	EMA       string `json:"ema"`
	Losses    string `json:"losses"`
}

// Hash identifies a state and the losses of every step so far. The order in
// which tensors are listed does not matter; a bit of any value does.
func Hash(s *State, losses []float64) Hashes {
	return Hashes{
		Model: digest(func(h hash.Hash) { writeTensors(h, s.Model) }),
		Optimizer: digest(func(h hash.Hash) {
			writeTensors(h, s.Momentum)
			if s.Meta.Scaler != nil {
				writeNumbers(h, math.Float64bits(s.Meta.Scaler.Scale), uint64(s.Meta.Scaler.Good))
			}
		}),
		Schedule: digest(func(h hash.Hash) {
			schedule := s.Meta.Schedule
			writeNumbers(h, uint64(schedule.Step), math.Float64bits(schedule.Rate), math.Float64bits(schedule.Alpha))
		}),
		EMA: digest(func(h hash.Hash) {
			writeTensors(h, s.EMA)
			if s.Meta.EMA != nil {
				writeNumbers(h, uint64(s.Meta.EMA.Updates), uint64(s.Meta.EMA.Steps))
			}
		}),
		Losses: digest(func(h hash.Hash) {
			for _, loss := range losses {
				writeNumbers(h, math.Float64bits(loss))
			}
		}),
	}
}

// content is the digest of a file: of the metadata and of every tensor.
func content(metadata string, s *State) string {
	return digest(func(h hash.Hash) {
		writeNumbers(h, uint64(len(metadata)))
		fmt.Fprint(h, metadata)
		writeTensors(h, s.Model)
		for _, f := range s.families() {
			writeTensors(h, *f.tensors)
		}
	})
}

func digest(write func(hash.Hash)) string {
	h := sha256.New()
	write(h)
	return hex.EncodeToString(h.Sum(nil))
}

// writeTensors writes names, types, shapes and bytes, each of known length, so
// that different lists never write the same bytes.
func writeTensors(h hash.Hash, tensors []Tensor) {
	writeNumbers(h, uint64(len(tensors)))
	for _, t := range sorted(tensors) {
		writeNumbers(h, uint64(len(t.Name)))
		fmt.Fprint(h, t.Name) // a hash never returns a write error
		writeNumbers(h, uint64(t.dtype), uint64(len(t.shape)))
		writeNumbers(h, t.shape...)
		h.Write(t.data)
	}
}

func writeNumbers(h hash.Hash, numbers ...uint64) {
	for _, n := range numbers {
		var bytes [8]byte
		binary.LittleEndian.PutUint64(bytes[:], n)
		h.Write(bytes[:])
	}
}

package replay

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// initialise starts parameters and buffers as the plan says. Each parameter and
// each random generator has its own stream, from the seed and its state-entry
// name alone, so that a parameter starts alike in every task that has it.
func (s *Stage) initialise(seed uint64) error {
	for i, p := range s.plan.Parameters {
		values := make([]float64, device.Elements(p.Shape))
		stream := streamOf(seed, p.Name)
		for j := range values {
			values[j] = p.Init.Value
			if p.Init.Bound > 0 {
				values[j] = (2*stream.Float64() - 1) * p.Init.Bound
			}
		}
		if err := s.loaded.Parameter(i).WriteFloat64(values); err != nil {
			return err
		}
	}
	for i, b := range s.plan.Buffers {
		if err := initialiseBuffer(s.loaded.Buffer(i), b, seed); err != nil {
			return err
		}
	}
	return nil
}

func initialiseBuffer(t device.Tensor, b ir.Buffer, seed uint64) error {
	n := device.Elements(b.Shape)
	if b.Seeded { // the seed, then the number of draws taken
		state := make([]int64, n)
		state[0] = int64(streamOf(seed, b.Name).Uint64() >> 1)
		return t.WriteInt64(state)
	}
	if b.Elem == ir.Counter || b.Elem == ir.Index {
		return t.WriteInt64(slices.Repeat([]int64{int64(b.Value)}, n))
	}
	return t.WriteFloat64(slices.Repeat([]float64{b.Value}, n))
}

func streamOf(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

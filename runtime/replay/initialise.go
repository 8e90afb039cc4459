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
		if err := s.loaded.Parameter(i).WriteFloat64(Start(seed, p)); err != nil {
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

// Start gives the values that a parameter starts with, row-major. It is what the
// stages of a fit with the seed start with, for parameters that are trained
// beside them.
func Start(seed uint64, p ir.Parameter) []float64 {
	values := make([]float64, device.Elements(p.Shape))
	stream := streamOf(seed, p.Name)
	for i := range values {
		values[i] = p.Init.Value
		if p.Init.Bound > 0 {
			values[i] = (2*stream.Float64() - 1) * p.Init.Bound
		}
	}
	return values
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

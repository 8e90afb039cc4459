// Dropout with a counter-based generator (SplitMix64) whose state lives on the
// device, so that a replayed recording draws new numbers each time.
//
// Element i of the tensor, counted in row-major order of its shape, takes draw
// d + i, d being the draws taken before. A second launch then moves d, when no
// block can read it any more. One thread for one element, 256 threads a block.
#pragma once
#include "types.cuh"

namespace reprise {

__device__ __forceinline__ uint64_t draw(uint64_t seed, uint64_t number) {
  uint64_t z = seed + (number + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// Threshold is ceil(probability * 2^53), Factor the bits of 1/(1-probability):
// the decision is an exact comparison of integers.
template <uint64_t Threshold, uint32_t Factor, class Index, class X, class Mask, class Y>
__device__ __forceinline__ void dropout(const reprise_dropout_arguments &p) {
  const Index item = Index(blockIdx.x) * blockDim.x + threadIdx.x, length = Index(p.extent[3]);
  const Index rows = Index(p.extent[0]) * Index(p.extent[1]) * Index(p.extent[2]);
  if (item >= rows * length)
    return;
  const Index row = item / length, inner = item % length;
  const int64_t *state = pointer<const int64_t>(p.state);
  const uint64_t number = draw(uint64_t(state[0]), uint64_t(state[1]) + uint64_t(item));
  const float factor = (number >> 11) < Threshold ? 0x0p+0f : float_from_bits(Factor);
  auto offset = [&](const reprise_tensor &t) { return row_offset<Index, 3>(row, p.extent, t.stride) + inner * Index(t.stride[3]); };
  pointer<Mask>(p.mask.data)[offset(p.mask)] = storage<Mask>::round(factor);
  const float x = to_float(pointer<const X>(p.x.data)[offset(p.x)]);
  pointer<Y>(p.y.data)[offset(p.y)] = storage<Y>::round(x * factor);
}

// One thread.
__device__ __forceinline__ void dropout_advance(const reprise_dropout_arguments &p) {
  pointer<int64_t>(p.state)[1] += p.extent[0] * p.extent[1] * p.extent[2] * p.extent[3];
}

} // namespace reprise

// Linear combinations with factors in memory.
//
// Tiling: one thread for V neighbours along the inner dimension, 256 threads a
// block. A factor is one element that every thread reads (it lies in the cache);
// the branch on it is the same for all threads of a launch.
#pragma once
#include "types.cuh"

namespace reprise {

// One term: adds coefficient * factor * x to sum, unless that product is zero.
template <int V, uint32_t Coefficient, bool HasFactor, class Factor, class X>
__device__ __forceinline__ void add_term(float (&sum)[V], uint64_t factor, const X *x) {
  float by = float_from_bits(Coefficient);
  if constexpr (HasFactor)
    by *= to_float(*pointer<const Factor>(factor));
  if (by == 0x0p+0f)
    return;
  float in[V];
  load<V>(in, x);
#pragma unroll
  for (int i = 0; i < V; i++)
    sum[i] = fused_multiply_add(by, in[i], sum[i]);
}

template <int Terms, uint32_t C0, uint32_t C1, uint32_t C2, bool F0, bool F1, bool F2, bool Accumulate, class Index, int Rank, int V, class Factor, class Y, class X0, class X1, class X2>
__device__ __forceinline__ void combination(const reprise_combination_arguments &p) {
  const Index chunks = Index(p.extent[3]) / V;
  const Index rows = Index(p.extent[0]) * Index(p.extent[1]) * Index(p.extent[2]);
  const Index item = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  if (item >= rows * chunks)
    return;
  const Index row = item / chunks, inner = item % chunks * V;
  const auto offset = [&](const reprise_tensor &t) { return row_offset<Index, Rank>(row, p.extent, t.stride) + inner_offset<V>(inner, t.stride); };
  float sum[V] = {};
  add_term<V, C0, F0, Factor>(sum, p.factor[0], pointer<const X0>(p.x[0].data) + offset(p.x[0]));
  if constexpr (Terms > 1)
    add_term<V, C1, F1, Factor>(sum, p.factor[1], pointer<const X1>(p.x[1].data) + offset(p.x[1]));
  if constexpr (Terms > 2)
    add_term<V, C2, F2, Factor>(sum, p.factor[2], pointer<const X2>(p.x[2].data) + offset(p.x[2]));
  Y *to = pointer<Y>(p.y.data) + offset(p.y);
  if constexpr (Accumulate) {
    float before[V];
    load<V>(before, to);
#pragma unroll
    for (int i = 0; i < V; i++)
      sum[i] += before[i];
  }
  store<V>(to, sum);
}

} // namespace reprise

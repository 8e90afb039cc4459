// Element-by-element kernels.
//
// Tiling: one thread for V neighbours along the inner dimension; neighbours in
// a warp are neighbours in memory. 256 threads a block, no shared memory.
#pragma once
#include "activation.cuh"

namespace reprise {

// T: what the result is stored as.
template <int A, uint32_t Slope, class T>
struct activate_operation {
  static constexpr int inputs = 1;
  static __device__ __forceinline__ float apply(float x, float) { return activate<A, Slope, T>(x); }
};

template <int A, uint32_t Slope, class T>
struct activate_gradient_operation {
  static constexpr int inputs = 2;
  static __device__ __forceinline__ float apply(float dy, float x) { return dy * activate_derivative<A, Slope, T>(x); }
};

struct add_operation {
  static constexpr int inputs = 2;
  static __device__ __forceinline__ float apply(float a, float b) { return a + b; }
};

struct multiply_operation {
  static constexpr int inputs = 2;
  static __device__ __forceinline__ float apply(float a, float b) { return a * b; }
};

template <uint32_t Factor>
struct scale_operation {
  static constexpr int inputs = 1;
  static __device__ __forceinline__ float apply(float x, float) { return x * float_from_bits(Factor); }
};

struct copy_operation {
  static constexpr int inputs = 1;
  static __device__ __forceinline__ float apply(float x, float) { return x; }
};

template <uint32_t Value>
struct fill_operation {
  static constexpr int inputs = 0;
  static __device__ __forceinline__ float apply(float, float) { return float_from_bits(Value); }
};

template <class Operation, bool Accumulate, class Index, int Rank, int V, class Y, class A, class B>
__device__ __forceinline__ void elementwise(const reprise_elementwise_arguments &p) {
  const Index chunks = Index(p.extent[3]) / V;
  const Index rows = Index(p.extent[0]) * Index(p.extent[1]) * Index(p.extent[2]);
  const Index item = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  if (item >= rows * chunks)
    return;
  const Index row = item / chunks, inner = item % chunks * V;
  float a[V] = {}, b[V] = {}, y[V];
  if constexpr (Operation::inputs > 0)
    load<V>(a, pointer<const A>(p.a.data) + row_offset<Index, Rank>(row, p.extent, p.a.stride) + inner_offset<V>(inner, p.a.stride));
  if constexpr (Operation::inputs > 1)
    load<V>(b, pointer<const B>(p.b.data) + row_offset<Index, Rank>(row, p.extent, p.b.stride) + inner_offset<V>(inner, p.b.stride));
  Y *to = pointer<Y>(p.y.data) + row_offset<Index, Rank>(row, p.extent, p.y.stride) + inner_offset<V>(inner, p.y.stride);
  if constexpr (Accumulate)
    load<V>(y, to);
#pragma unroll
  for (int i = 0; i < V; i++) {
    const float value = Operation::apply(a[i], b[i]);
    y[i] = Accumulate ? y[i] + value : value;
  }
  store<V>(to, y);
}

} // namespace reprise

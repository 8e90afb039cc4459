// Softmax over the inner dimension, and its gradient.
//
// Tiling: one block of 128 threads a row; a thread takes every 128th group of V
// neighbours: eight where rows are aligned to 16 bytes, which may depend on the
// sizes of a call, else one. It keeps the first eight elements in registers and
// reads the others again for each step, so that the length of a row is not
// limited. Sums merge by halving in a fixed order.
#pragma once
#include "activation.cuh"

namespace reprise {

constexpr int softmax_threads = 128;
constexpr int softmax_held = 8;

struct take_sum {
  static __device__ __forceinline__ float merge(float a, float b) { return a + b; }
};
struct take_larger {
  static __device__ __forceinline__ float merge(float a, float b) { return larger(a, b); }
};

// Every thread gets the result over the block.
template <class Take>
__device__ __forceinline__ float over_block(float value) {
  __shared__ float shared[softmax_threads / 32];
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value = Take::merge(value, shuffle_xor(value, lanes));
  __syncthreads(); // the array may still be read for the value before
  if (threadIdx.x % 32 == 0)
    shared[threadIdx.x / 32] = value;
  __syncthreads();
  return Take::merge(Take::merge(shared[0], shared[1]), Take::merge(shared[2], shared[3]));
}

// Whether all rows of a tensor are made of aligned groups of V elements.
template <int V, class T>
__device__ __forceinline__ bool in_groups(const reprise_elementwise_arguments &p, const reprise_tensor &t) {
  uint64_t bits = t.data / sizeof(T) | uint64_t(p.extent[3]);
#pragma unroll
  for (int i = 0; i < 3; i++)
    bits |= uint64_t(t.stride[i]);
  return t.stride[3] == 1 && bits % V == 0;
}

// A row of x, dy or y: element i lies at from[i * stride[3]].
template <class Index>
__device__ __forceinline__ Index this_row(const reprise_elementwise_arguments &p, const reprise_tensor &t) {
  return row_offset<Index, 3>(Index(blockIdx.x), p.extent, t.stride);
}

// V neighbours.
template <int V>
struct values {
  float at[V];
};

// The elements of a row that belong to a thread.
template <int V, class T, class Index>
struct row_elements {
  static constexpr int groups = softmax_held / V;
  T *row;
  Index step, length;
  values<V> held[groups];

  __device__ __forceinline__ row_elements(const reprise_elementwise_arguments &p, const reprise_tensor &t) : row(pointer<T>(t.data) + this_row<Index>(p, t)), step(Index(t.stride[3])), length(Index(p.extent[3])) {}

  static __device__ __forceinline__ Index at(int j) { return (threadIdx.x + Index(j) * softmax_threads) * V; }

  __device__ __forceinline__ values<V> get(Index i) const {
    values<V> v;
    load<V>(v.at, static_cast<const T *>(row + i * (V > 1 ? 1 : step)));
    return v;
  }

  __device__ __forceinline__ void set(Index i, const values<V> &v) const { store<V>(row + i * (V > 1 ? 1 : step), v.at); }

  __device__ __forceinline__ void hold() {
#pragma unroll
    for (int j = 0; j < groups; j++)
      if (at(j) < length)
        held[j] = get(at(j));
  }
};

// Calls visit(position, neighbours of each of the rows) in order.
template <class Index, class Visit, class First, class... Rest>
__device__ __forceinline__ void each_group(Visit visit, const First &first, const Rest &...rest) {
#pragma unroll
  for (int j = 0; j < First::groups; j++)
    if (First::at(j) < first.length)
      visit(First::at(j), first.held[j], rest.held[j]...);
  for (Index i = First::at(First::groups); i < first.length; i += First::at(1) - First::at(0))
    visit(i, first.get(i), rest.get(i)...);
}

template <int V, class Index, class X, class Y>
__device__ __forceinline__ void softmax_row(const reprise_elementwise_arguments &p) {
  row_elements<V, const X, Index> x(p, p.a);
  const row_elements<V, Y, Index> y(p, p.y);
  x.hold();
  float largest = to_float(*x.row), sum = 0x0p+0f;
  each_group<Index>([&](Index, const values<V> &v) {
#pragma unroll
    for (int i = 0; i < V; i++)
      largest = larger(largest, v.at[i]);
  },
                    x);
  largest = over_block<take_larger>(largest);
  each_group<Index>([&](Index, const values<V> &v) {
#pragma unroll
    for (int i = 0; i < V; i++)
      sum += exponential_for<Y>(v.at[i] - largest);
  },
                    x);
  const float factor = divide(0x1p+0f, over_block<take_sum>(sum));
  each_group<Index>([&](Index at, const values<V> &v) {
    values<V> result;
#pragma unroll
    for (int i = 0; i < V; i++)
      result.at[i] = exponential_for<Y>(v.at[i] - largest) * factor;
    y.set(at, result);
  },
                    x);
}

template <class Index, class X, class Y>
__device__ __forceinline__ void softmax(const reprise_elementwise_arguments &p) {
  if (in_groups<8, X>(p, p.a) && in_groups<8, Y>(p, p.y))
    softmax_row<8, Index, X, Y>(p);
  else
    softmax_row<1, Index, X, Y>(p);
}

template <int V, class Index, bool Accumulate, class DY, class Y, class DX>
__device__ __forceinline__ void softmax_gradient_row(const reprise_elementwise_arguments &p) {
  row_elements<V, const DY, Index> dy(p, p.a);
  row_elements<V, const Y, Index> y(p, p.b);
  const row_elements<V, DX, Index> dx(p, p.y);
  dy.hold();
  y.hold();
  float sum = 0x0p+0f;
  each_group<Index>([&](Index, const values<V> &dv, const values<V> &v) {
#pragma unroll
    for (int i = 0; i < V; i++)
      sum = fused_multiply_add(dv.at[i], v.at[i], sum);
  },
                    dy, y);
  sum = over_block<take_sum>(sum);
  each_group<Index>([&](Index at, const values<V> &dv, const values<V> &v) {
    values<V> result = {};
    if constexpr (Accumulate)
      result = dx.get(at);
#pragma unroll
    for (int i = 0; i < V; i++) {
      const float value = v.at[i] * (dv.at[i] - sum);
      result.at[i] = Accumulate ? result.at[i] + value : value;
    }
    dx.set(at, result);
  },
                    dy, y);
}

// dX = Y * (dY - sum of dY * Y): a is dY, b is Y, y is dX.
template <class Index, bool Accumulate, class DY, class Y, class DX>
__device__ __forceinline__ void softmax_gradient(const reprise_elementwise_arguments &p) {
  if (in_groups<8, DY>(p, p.a) && in_groups<8, Y>(p, p.b) && in_groups<8, DX>(p, p.y))
    softmax_gradient_row<8, Index, Accumulate, DY, Y, DX>(p);
  else
    softmax_gradient_row<1, Index, Accumulate, DY, Y, DX>(p);
}

} // namespace reprise

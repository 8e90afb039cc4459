// Softmax over the inner dimension, and its gradient.
//
// Tiling: one block of 128 threads a row; a thread takes every 128th element. It
// keeps the first eight in registers and reads the others again for each step,
// so that the length of a row is not limited. Sums merge by halving in a fixed
// order.
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

// A row of x, dy or y: element i lies at from[i * stride[3]].
template <class Index>
__device__ __forceinline__ Index this_row(const reprise_elementwise_arguments &p, const reprise_tensor &t) {
  return row_offset<Index, 3>(Index(blockIdx.x), p.extent, t.stride);
}

// The elements of a row that belong to a thread.
template <class T, class Index>
struct row_elements {
  const T *from;
  Index step, length;
  float held[softmax_held];

  __device__ __forceinline__ row_elements(const T *from, Index step, Index length) : from(from), step(step), length(length) {
#pragma unroll
    for (int j = 0; j < softmax_held; j++)
      if (at(j) < length)
        held[j] = to_float(from[at(j) * step]);
  }

  static __device__ __forceinline__ Index at(int j) { return threadIdx.x + Index(j) * softmax_threads; }
};

// Calls visit(position, element of each of the rows) in order.
template <class Index, class Visit, class First, class... Rest>
__device__ __forceinline__ void each_element(Visit visit, const First &first, const Rest &...rest) {
#pragma unroll
  for (int j = 0; j < softmax_held; j++)
    if (First::at(j) < first.length)
      visit(First::at(j), first.held[j], rest.held[j]...);
  for (Index i = First::at(softmax_held); i < first.length; i += softmax_threads)
    visit(i, to_float(first.from[i * first.step]), to_float(rest.from[i * rest.step])...);
}

template <class Index, class X, class Y>
__device__ __forceinline__ void softmax(const reprise_elementwise_arguments &p) {
  const X *from = pointer<const X>(p.a.data) + this_row<Index>(p, p.a);
  const row_elements<X, Index> x(from, Index(p.a.stride[3]), Index(p.extent[3]));
  Y *y = pointer<Y>(p.y.data) + this_row<Index>(p, p.y);
  const Index step_y = Index(p.y.stride[3]);
  float largest = to_float(from[0]), sum = 0x0p+0f;
  each_element<Index>([&](Index, float v) { largest = larger(largest, v); }, x);
  largest = over_block<take_larger>(largest);
  each_element<Index>([&](Index, float v) { sum += exponential(v - largest); }, x);
  const float factor = divide(0x1p+0f, over_block<take_sum>(sum));
  each_element<Index>([&](Index i, float v) { y[i * step_y] = storage<Y>::round(exponential(v - largest) * factor); }, x);
}

// dX = Y * (dY - sum of dY * Y): a is dY, b is Y, y is dX.
template <class Index, bool Accumulate, class DY, class Y, class DX>
__device__ __forceinline__ void softmax_gradient(const reprise_elementwise_arguments &p) {
  const Index length = Index(p.extent[3]), step_dx = Index(p.y.stride[3]);
  const row_elements<DY, Index> dy(pointer<const DY>(p.a.data) + this_row<Index>(p, p.a), Index(p.a.stride[3]), length);
  const row_elements<Y, Index> y(pointer<const Y>(p.b.data) + this_row<Index>(p, p.b), Index(p.b.stride[3]), length);
  DX *dx = pointer<DX>(p.y.data) + this_row<Index>(p, p.y);
  float sum = 0x0p+0f;
  each_element<Index>([&](Index, float dv, float v) { sum = fused_multiply_add(dv, v, sum); }, dy, y);
  sum = over_block<take_sum>(sum);
  each_element<Index>([&](Index i, float dv, float v) {
    const float value = v * (dv - sum);
    dx[i * step_dx] = storage<DX>::round(Accumulate ? to_float(dx[i * step_dx]) + value : value);
  },
                      dy, y);
}

} // namespace reprise

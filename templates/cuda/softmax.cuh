// Softmax over the inner dimension, and its gradient.
//
// Tiling: one block of 128 threads a row; a thread takes every 128th element.
// The row is read again for each step (it lies in the L1 cache), so that its
// length is not limited. Sums merge by halving in a fixed order.
#pragma once
#include "activation.cuh"

namespace reprise {

constexpr int softmax_threads = 128;

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

template <class Index, class X, class Y>
__device__ __forceinline__ void softmax(const reprise_elementwise_arguments &p) {
  const X *x = pointer<const X>(p.a.data) + this_row<Index>(p, p.a);
  Y *y = pointer<Y>(p.y.data) + this_row<Index>(p, p.y);
  const Index length = Index(p.extent[3]), step_x = Index(p.a.stride[3]), step_y = Index(p.y.stride[3]);
  float largest = to_float(x[0]), sum = 0x0p+0f;
  for (Index i = threadIdx.x; i < length; i += softmax_threads)
    largest = larger(largest, to_float(x[i * step_x]));
  largest = over_block<take_larger>(largest);
  for (Index i = threadIdx.x; i < length; i += softmax_threads)
    sum += exponential(to_float(x[i * step_x]) - largest);
  const float factor = divide(0x1p+0f, over_block<take_sum>(sum));
  for (Index i = threadIdx.x; i < length; i += softmax_threads)
    y[i * step_y] = storage<Y>::round(exponential(to_float(x[i * step_x]) - largest) * factor);
}

// dX = Y * (dY - sum of dY * Y): a is dY, b is Y, y is dX.
template <class Index, bool Accumulate, class DY, class Y, class DX>
__device__ __forceinline__ void softmax_gradient(const reprise_elementwise_arguments &p) {
  const DY *dy = pointer<const DY>(p.a.data) + this_row<Index>(p, p.a);
  const Y *y = pointer<const Y>(p.b.data) + this_row<Index>(p, p.b);
  DX *dx = pointer<DX>(p.y.data) + this_row<Index>(p, p.y);
  const Index length = Index(p.extent[3]), step_dy = Index(p.a.stride[3]), step_y = Index(p.b.stride[3]), step_dx = Index(p.y.stride[3]);
  float sum = 0x0p+0f;
  for (Index i = threadIdx.x; i < length; i += softmax_threads)
    sum = fused_multiply_add(to_float(dy[i * step_dy]), to_float(y[i * step_y]), sum);
  sum = over_block<take_sum>(sum);
  for (Index i = threadIdx.x; i < length; i += softmax_threads) {
    const float value = to_float(y[i * step_y]) * (to_float(dy[i * step_dy]) - sum);
    dx[i * step_dx] = storage<DX>::round(Accumulate ? to_float(dx[i * step_dx]) + value : value);
  }
}

} // namespace reprise

// Division of matrices by their Frobenius norm.
//
// Tiling: grid (parts, matrices), 128 threads a block; a block has a span of a
// matrix's elements in row-major order. Pass 1 leaves the sum of squares of each
// span, pass 2 adds the sums of all spans in a fixed order and divides.
#pragma once
#include "softmax.cuh"

namespace reprise {

// The block's matrix of a tensor, and where its element number i lies.
template <class Index>
__device__ __forceinline__ Index this_matrix(const reprise_matrix_norm_arguments &p, const reprise_tensor &t) {
  const Index matrix = Index(blockIdx.y), inner = Index(p.extent[1]);
  return (matrix / inner) * Index(t.stride[0]) + (matrix % inner) * Index(t.stride[1]);
}
template <class Index>
__device__ __forceinline__ Index element_offset(const reprise_matrix_norm_arguments &p, const reprise_tensor &t, Index i) {
  const Index columns = Index(p.extent[3]);
  return (i / columns) * Index(t.stride[2]) + (i % columns) * Index(t.stride[3]);
}

template <int Span, class Index>
__device__ __forceinline__ Index span_end(const reprise_matrix_norm_arguments &p) {
  return smaller((Index(blockIdx.x) + 1) * Span, Index(p.extent[2]) * Index(p.extent[3]));
}

template <int Span, class Index, class X>
__device__ __forceinline__ void matrix_norm_partial(const reprise_matrix_norm_arguments &p) {
  const X *x = pointer<const X>(p.x.data) + this_matrix<Index>(p, p.x);
  const Index end = span_end<Span, Index>(p);
  float sum = 0x0p+0f;
  for (Index i = Index(blockIdx.x) * Span + threadIdx.x; i < end; i += softmax_threads) {
    const float v = to_float(x[element_offset(p, p.x, i)]);
    sum = fused_multiply_add(v, v, sum);
  }
  sum = over_block<take_sum>(sum);
  if (threadIdx.x == 0)
    pointer<float>(p.partial)[int64_t(blockIdx.y) * p.parts + blockIdx.x] = sum;
}

template <int Span, uint32_t Epsilon, class Index, class X, class Y>
__device__ __forceinline__ void matrix_normalize(const reprise_matrix_norm_arguments &p) {
  const float *partial = pointer<const float>(p.partial) + int64_t(blockIdx.y) * p.parts;
  float sum = 0x0p+0f;
  for (int i = threadIdx.x; i < p.parts; i += softmax_threads)
    sum += partial[i];
  const float divisor = square_root(over_block<take_sum>(sum)) + float_from_bits(Epsilon);
  const X *x = pointer<const X>(p.x.data) + this_matrix<Index>(p, p.x);
  Y *y = pointer<Y>(p.y.data) + this_matrix<Index>(p, p.y);
  const Index end = span_end<Span, Index>(p);
  for (Index i = Index(blockIdx.x) * Span + threadIdx.x; i < end; i += softmax_threads)
    y[element_offset(p, p.y, i)] = storage<Y>::round(divide(to_float(x[element_offset(p, p.x, i)]), divisor));
}

} // namespace reprise

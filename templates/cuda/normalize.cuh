// Batch normalisation as an element-by-element pass: forward with activation
// and residual, and the gradient once its two sums are known.
//
// Tiling: a thread owns V channels of four consecutive rows (pixels), so that
// coefficients are read once for 4*V elements. 256 threads a block.
#pragma once
#include "activation.cuh"

namespace reprise {

constexpr int rows_a_thread = 4;

template <int V>
struct coefficients {
  float mean[V], rstd[V], scale[V], shift[V];

  __device__ __forceinline__ coefficients(const reprise_channel_arguments &p, int channel) {
    load<V>(mean, pointer<const float>(p.mean) + channel);
    load<V>(rstd, pointer<const float>(p.rstd) + channel);
    load<V>(scale, pointer<const float>(p.scale) + channel);
    load<V>(shift, pointer<const float>(p.shift) + channel);
  }

  // The mean is taken away first: (x - mean) is exact where scale*x + shift
  // would cancel, when |mean| is far above the deviation.
  __device__ __forceinline__ float hat(float x, int i) const { return (x - mean[i]) * rstd[i]; }
  __device__ __forceinline__ float apply(float xhat, int i) const { return fused_multiply_add(xhat, scale[i], shift[i]); }
};

// y = act(xhat * scale + shift) + residual, which travels in the place of dy.
template <int A, uint32_t Slope, bool Residual, class Index, int Rank, int C, int V, class X, class R, class Y>
__device__ __forceinline__ void normalize(const reprise_channel_arguments &p) {
  const Index rows = Index(p.extent[0]) * Index(p.extent[1]) * Index(p.extent[2]);
  const Index item = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  const Index first = item / (C / V) * rows_a_thread;
  const int channel = int(item % (C / V)) * V;
  if (first >= rows)
    return;
  const coefficients<V> k(p, channel);
#pragma unroll
  for (int r = 0; r < rows_a_thread; r++) {
    const Index row = first + r;
    if (row >= rows)
      break;
    float x[V], y[V], residual[V] = {};
    load<V>(x, pointer<const X>(p.x.data) + row_offset<Index, Rank>(row, p.extent, p.x.stride) + inner_offset<V>(Index(channel), p.x.stride));
    if constexpr (Residual)
      load<V>(residual, pointer<const R>(p.dy.data) + row_offset<Index, Rank>(row, p.extent, p.dy.stride) + inner_offset<V>(Index(channel), p.dy.stride));
#pragma unroll
    for (int i = 0; i < V; i++) {
      const float z = activate<A, Slope>(k.apply(k.hat(x[i], i), i));
      y[i] = Residual ? z + residual[i] : z;
    }
    store<V>(pointer<Y>(p.y.data) + row_offset<Index, Rank>(row, p.extent, p.y.stride) + inner_offset<V>(Index(channel), p.y.stride), y);
  }
}

// dx = scale*rstd * (g - dshift/M - xhat*dscale/M), g the gradient before the activation.
template <int A, uint32_t Slope, bool Accumulate, class Index, int Rank, int C, int V, class DY, class X, class DX>
__device__ __forceinline__ void normalize_gradient(const reprise_channel_arguments &p) {
  const Index rows = Index(p.extent[0]) * Index(p.extent[1]) * Index(p.extent[2]);
  const Index item = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  const Index first = item / (C / V) * rows_a_thread;
  const int channel = int(item % (C / V)) * V;
  if (first >= rows)
    return;
  const coefficients<V> k(p, channel);
  const float share = divide(0x1p+0f, float(rows));
  float dscale[V], dshift[V];
  load<V>(dscale, pointer<const float>(p.dscale) + channel);
  load<V>(dshift, pointer<const float>(p.dshift) + channel);
#pragma unroll
  for (int r = 0; r < rows_a_thread; r++) {
    const Index row = first + r;
    if (row >= rows)
      break;
    float x[V], dy[V], dx[V];
    load<V>(x, pointer<const X>(p.x.data) + row_offset<Index, Rank>(row, p.extent, p.x.stride) + inner_offset<V>(Index(channel), p.x.stride));
    load<V>(dy, pointer<const DY>(p.dy.data) + row_offset<Index, Rank>(row, p.extent, p.dy.stride) + inner_offset<V>(Index(channel), p.dy.stride));
    DX *to = pointer<DX>(p.y.data) + row_offset<Index, Rank>(row, p.extent, p.y.stride) + inner_offset<V>(Index(channel), p.y.stride);
    if constexpr (Accumulate)
      load<V>(dx, to);
#pragma unroll
    for (int i = 0; i < V; i++) {
      const float xhat = k.hat(x[i], i);
      const float g = dy[i] * activate_derivative<A, Slope>(k.apply(xhat, i));
      const float centred = g - (dshift[i] + xhat * dscale[i]) * share;
      const float value = k.scale[i] * k.rstd[i] * centred;
      dx[i] = Accumulate ? dx[i] + value : value;
    }
    store<V>(to, dx);
  }
}

} // namespace reprise

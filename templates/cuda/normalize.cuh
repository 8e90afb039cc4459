// Batch normalisation as an element-by-element pass: forward with activation
// and residual, and the gradient once its two sums are known.
//
// Tiling: a thread owns V channels of four consecutive rows (pixels), so that
// coefficients are read once for 4*V elements and four loads a tensor are on
// their way at once. 256 threads a block.
#pragma once
#include "activation.cuh"

namespace reprise {

constexpr int rows_a_thread = 4;

// V coefficients from channel on, of C. Maps may be padded so that the last
// group reaches beyond the channels; vectors of coefficients are not.
template <int C, int V>
__device__ __forceinline__ void load_coefficients(float (&to)[V], uint64_t vector, int channel) {
  const float *from = pointer<const float>(vector) + channel;
  if constexpr (C % V == 0) {
    load<V>(to, from);
  } else {
#pragma unroll
    for (int i = 0; i < V; i++)
      to[i] = channel + i < C ? from[i] : 0x0p+0f;
  }
}

template <int C, int V>
struct coefficients {
  float mean[V], rstd[V], scale[V], shift[V];

  template <class Arguments>
  __device__ __forceinline__ coefficients(const Arguments &p, int channel) {
    load_coefficients<C>(mean, p.mean, channel);
    load_coefficients<C>(rstd, p.rstd, channel);
    load_coefficients<C>(scale, p.scale, channel);
    load_coefficients<C>(shift, p.shift, channel);
  }

  // The mean is taken away first: (x - mean) is exact where scale*x + shift
  // would cancel, when |mean| is far above the deviation.
  __device__ __forceinline__ float hat(float x, int i) const { return (x - mean[i]) * rstd[i]; }
  __device__ __forceinline__ float apply(float xhat, int i) const { return fused_multiply_add(xhat, scale[i], shift[i]); }
};

// The part of a thread: V channels of rows_a_thread rows, as far as they exist.
template <class Index, int C, int V>
struct channel_part {
  static constexpr int groups = (C + V - 1) / V;
  Index rows, first;
  int channel;

  __device__ __forceinline__ explicit channel_part(const reprise_channel_arguments &p) {
    rows = Index(p.extent[0]) * Index(p.extent[1]) * Index(p.extent[2]);
    const Index item = Index(blockIdx.x) * blockDim.x + threadIdx.x;
    first = item / groups * rows_a_thread;
    channel = int(item % groups) * V;
  }

  __device__ __forceinline__ bool exists(int r) const { return first + Index(r) < rows; }

  template <int Rank>
  __device__ __forceinline__ Index offset(int r, const reprise_channel_arguments &p, const reprise_tensor &t) const {
    return row_offset<Index, Rank>(first + Index(r), p.extent, t.stride) + inner_offset<V>(Index(channel), t.stride);
  }

  // Starts the loads of all rows; what does not exist stays undefined.
  template <int Rank, class T>
  __device__ __forceinline__ void fetch_rows(group<T, V> (&to)[rows_a_thread], const reprise_channel_arguments &p, const reprise_tensor &t) const {
#pragma unroll
    for (int r = 0; r < rows_a_thread; r++)
      if (exists(r))
        to[r] = fetch_channels<C, V>(pointer<const T>(t.data) + offset<Rank>(r, p, t), channel);
  }
};

// y = act(xhat * scale + shift) + residual, which travels in the place of dy.
template <int A, uint32_t Slope, bool Residual, class Index, int Rank, int C, int V, class X, class R, class Y>
__device__ __forceinline__ void normalize(const reprise_channel_arguments &p) {
  const channel_part<Index, C, V> part(p);
  if (!part.exists(0))
    return;
  group<X, V> xs[rows_a_thread];
  group<R, V> residuals[rows_a_thread];
  part.template fetch_rows<Rank>(xs, p, p.x);
  if constexpr (Residual)
    part.template fetch_rows<Rank>(residuals, p, p.dy);
  const coefficients<C, V> k(p, part.channel);
#pragma unroll
  for (int r = 0; r < rows_a_thread; r++) {
    if (!part.exists(r))
      break;
    float x[V], y[V], residual[V] = {};
    widen<V>(x, xs[r]);
    if constexpr (Residual)
      widen<V>(residual, residuals[r]);
#pragma unroll
    for (int i = 0; i < V; i++) {
      const float z = activate<A, Slope, X>(k.apply(k.hat(x[i], i), i));
      y[i] = Residual ? z + residual[i] : z;
    }
    store<V>(pointer<Y>(p.y.data) + part.template offset<Rank>(r, p, p.y), y);
  }
}

// dx = scale*rstd * (g - dshift/M - xhat*dscale/M), g the gradient before the activation.
template <int A, uint32_t Slope, bool Accumulate, class Index, int Rank, int C, int V, class DY, class X, class DX>
__device__ __forceinline__ void normalize_gradient(const reprise_channel_arguments &p) {
  const channel_part<Index, C, V> part(p);
  if (!part.exists(0))
    return;
  group<X, V> xs[rows_a_thread];
  group<DY, V> dys[rows_a_thread];
  part.template fetch_rows<Rank>(xs, p, p.x);
  part.template fetch_rows<Rank>(dys, p, p.dy);
  const coefficients<C, V> k(p, part.channel);
  const float share = divide(0x1p+0f, float(part.rows));
  float dscale[V], dshift[V];
  load_coefficients<C>(dscale, p.dscale, part.channel);
  load_coefficients<C>(dshift, p.dshift, part.channel);
#pragma unroll
  for (int r = 0; r < rows_a_thread; r++) {
    if (!part.exists(r))
      break;
    float x[V], dy[V], dx[V];
    widen<V>(x, xs[r]);
    widen<V>(dy, dys[r]);
    DX *to = pointer<DX>(p.y.data) + part.template offset<Rank>(r, p, p.y);
    if constexpr (Accumulate)
      widen<V>(dx, fetch_channels<C, V>(static_cast<const DX *>(to), part.channel));
#pragma unroll
    for (int i = 0; i < V; i++) {
      const float xhat = k.hat(x[i], i);
      const float g = dy[i] * activate_derivative<A, Slope, X>(k.apply(xhat, i));
      const float centred = g - (dshift[i] + xhat * dscale[i]) * share;
      const float value = k.scale[i] * k.rstd[i] * centred;
      dx[i] = Accumulate ? dx[i] + value : value;
    }
    store<V>(to, dx);
  }
}

} // namespace reprise

// Batch normalisation as an element-by-element pass: forward with activation
// and residual, and the gradient once its two sums are known.
//
// Tiling: a thread owns V channels of Rows rows (pixels), so that coefficients
// are read once for Rows*V elements and Rows loads a tensor are on their way at
// once. Lanes of channels are neighbours, then come neighbouring rows; a thread
// goes on by as many rows as a block has beside each other. Threads beyond the
// last whole row of a block have no part.
// Grid: (row tiles, channel sets). Block: 256 threads.
#pragma once
#include "activation.cuh"

namespace reprise {

constexpr int normalize_threads = 256;

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

// The part of a thread: V channels of Rows rows, as far as they exist.
template <class Index, int C, int V, int Rows>
struct channel_part {
  static constexpr int groups = (C + V - 1) / V, lanes = groups < normalize_threads ? groups : normalize_threads, together = normalize_threads / lanes;
  Index rows, first;
  int channel;
  bool has;

  __device__ __forceinline__ explicit channel_part(const reprise_channel_arguments &p) {
    rows = Index(p.extent[0]) * Index(p.extent[1]) * Index(p.extent[2]);
    first = Index(blockIdx.x) * (Rows * together) + threadIdx.x / lanes;
    channel = int(blockIdx.y * lanes + threadIdx.x % lanes) * V;
    has = threadIdx.x < lanes * together && channel < C && first < rows;
  }

  __device__ __forceinline__ Index row(int r) const { return first + Index(r) * together; }
  __device__ __forceinline__ bool exists(int r) const { return row(r) < rows; }

  template <int Rank>
  __device__ __forceinline__ Index offset(Index row, const reprise_channel_arguments &p, const reprise_tensor &t) const {
    return row_offset<Index, Rank>(row, p.extent, t.stride) + inner_offset<V>(Index(channel), t.stride);
  }

  // Starts the loads of all rows. The last row takes the place of those that do
  // not exist: a load under a condition would wait for its turn.
  template <int Rank, class T>
  __device__ __forceinline__ void fetch_rows(group<T, V> (&to)[Rows], const reprise_channel_arguments &p, const reprise_tensor &t) const {
#pragma unroll
    for (int r = 0; r < Rows; r++)
      to[r] = fetch_channels<C, V>(pointer<const T>(t.data) + offset<Rank>(smaller(row(r), rows - 1), p, t), channel);
  }

  template <int Rank, class T>
  __device__ __forceinline__ void store_row(int r, const float (&from)[V], const reprise_channel_arguments &p, const reprise_tensor &t) const {
    if (exists(r))
      store<V>(pointer<T>(t.data) + offset<Rank>(row(r), p, t), from);
  }
};

// The coefficients as passes over a map use them: xhat * scale + shift is
// (x - mean) * factor + shift.
template <int C, int V>
struct folded {
  float mean[V], factor[V], shift[V];

  __device__ __forceinline__ explicit folded(const coefficients<C, V> &k) {
#pragma unroll
    for (int i = 0; i < V; i++) {
      mean[i] = k.mean[i];
      factor[i] = k.rstd[i] * k.scale[i];
      shift[i] = k.shift[i];
    }
  }
};

// y = act(xhat * scale + shift) + residual, which travels in the place of dy.
template <int A, uint32_t Slope, bool Residual, class Index, int Rank, int C, int V, int Rows, class X, class R, class Y>
__device__ __forceinline__ void normalize(const reprise_channel_arguments &p) {
  const channel_part<Index, C, V, Rows> part(p);
  if (!part.has)
    return;
  group<X, V> xs[Rows];
  group<R, V> residuals[Rows];
  part.template fetch_rows<Rank>(xs, p, p.x);
  if constexpr (Residual)
    part.template fetch_rows<Rank>(residuals, p, p.dy);
  const folded<C, V> k{coefficients<C, V>(p, part.channel)};
#pragma unroll
  for (int r = 0; r < Rows; r++) {
    float x[V], y[V], residual[V] = {};
    widen<V>(x, xs[r]);
    if constexpr (Residual)
      widen<V>(residual, residuals[r]);
#pragma unroll
    for (int i = 0; i < V; i++) {
      const float z = activate<A, Slope, X>(fused_multiply_add(x[i] - k.mean[i], k.factor[i], k.shift[i]));
      y[i] = Residual ? z + residual[i] : z;
    }
    part.template store_row<Rank, Y>(r, y, p, p.y);
  }
}

// dx = scale*rstd * (g - dshift/M - xhat*dscale/M), g the gradient before the activation.
template <int A, uint32_t Slope, bool Accumulate, class Index, int Rank, int C, int V, int Rows, class DY, class X, class DX>
__device__ __forceinline__ void normalize_gradient(const reprise_channel_arguments &p) {
  const channel_part<Index, C, V, Rows> part(p);
  if (!part.has)
    return;
  group<X, V> xs[Rows];
  group<DY, V> dys[Rows];
  group<DX, V> before[Rows];
  part.template fetch_rows<Rank>(xs, p, p.x);
  part.template fetch_rows<Rank>(dys, p, p.dy);
  if constexpr (Accumulate)
    part.template fetch_rows<Rank>(before, p, p.y);
  const coefficients<C, V> k(p, part.channel);
  const folded<C, V> f(k);
  float slope[V], level[V]; // of what the sums take away, over x - mean
  load_coefficients<C>(slope, p.dscale, part.channel);
  load_coefficients<C>(level, p.dshift, part.channel);
  const float share = divide(0x1p+0f, float(part.rows));
#pragma unroll
  for (int i = 0; i < V; i++) {
    slope[i] *= k.rstd[i] * share;
    level[i] *= share;
  }
#pragma unroll
  for (int r = 0; r < Rows; r++) {
    float x[V], dy[V], dx[V] = {};
    widen<V>(x, xs[r]);
    widen<V>(dy, dys[r]);
    if constexpr (Accumulate)
      widen<V>(dx, before[r]);
#pragma unroll
    for (int i = 0; i < V; i++) {
      const float deviation = x[i] - f.mean[i];
      const float g = dy[i] * activate_derivative<A, Slope, X>(fused_multiply_add(deviation, f.factor[i], f.shift[i]));
      const float centred = fused_multiply_add(-deviation, slope[i], g - level[i]);
      dx[i] = Accumulate ? fused_multiply_add(f.factor[i], centred, dx[i]) : f.factor[i] * centred;
    }
    part.template store_row<Rank, DX>(r, dx, p, p.y);
  }
}

} // namespace reprise

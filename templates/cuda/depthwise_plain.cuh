// Depthwise convolutions that have no tile of their source in shared memory:
// strides above 1 and large kernels, and the weight gradient where no kernel makes
// both gradients (see depthwise_gradients.cuh).
#pragma once
#include "depthwise.cuh"

namespace reprise {

template <int V, class Index>
__device__ __forceinline__ Index channel_offset(const reprise_map &m, int channel) {
  return Index(channel) * Index(V > 1 ? 1 : m.channel);
}

// Forward pass: a thread makes V channels of a pixel at a time.
// Grid: (pixels or fewer, sets of Lanes*V channels). Block: 256 threads.
template <class Index, int C, int Kernel, int Stride, int V, int Lanes, bool HasBias, class X, class Y, class Sums>
__device__ __forceinline__ void depthwise_plain(const reprise_convolution_arguments &p) {
  using sums = typename Sums::template of<C, V, Y>;
  constexpr int width = Lanes * V, row_lanes = depthwise_threads / Lanes, padding = (Kernel - 1) / 2;
  const int channel = blockIdx.y * width + threadIdx.x % Lanes * V;
  const Index items = channel < C ? Index(p.batch) * Index(p.output_height) * Index(p.output_width) : 0;
  sums total;
  sums::start(p);
  const typename sums::coefficients coefficients(p, channel < C ? channel : 0);
  for (Index item = Index(blockIdx.x) * row_lanes + threadIdx.x / Lanes; item < items; item += Index(gridDim.x) * row_lanes) {
    const Index rest = item / Index(p.output_width), n = rest / Index(p.output_height);
    const int x = int(item - rest * Index(p.output_width)), y = int(rest - n * Index(p.output_height));
    float sum[V] = {};
    if constexpr (HasBias)
#pragma unroll
      for (int i = 0; i < V; i++)
        sum[i] = channel + i < C ? pointer<const float>(p.bias)[channel + i] : 0x0p+0f;
    for (int ky = 0; ky < Kernel; ky++)
      for (int kx = 0; kx < Kernel; kx++) {
        const int sy = y * Stride - padding + ky, sx = x * Stride - padding + kx;
        if (unsigned(sy) >= unsigned(p.input_height) || unsigned(sx) >= unsigned(p.input_width))
          continue;
        float v[V];
        widen<V>(v, fetch_channels<C, V>(pointer<const X>(p.input.data) + pixel_offset(p.input, n, Index(sy), Index(sx)) + channel_offset<V, Index>(p.input, channel), channel));
#pragma unroll
        for (int i = 0; i < V; i++)
          if (channel + i < C)
            sum[i] = fused_multiply_add(v[i], pointer<const float>(p.weight)[(channel + i) * Kernel * Kernel + ky * Kernel + kx], sum[i]);
      }
    const group<Y, V> rounded = narrow<Y>(sum);
    *reinterpret_cast<group<Y, V> *>(pointer<Y>(p.output.data) + pixel_offset(p.output, n, Index(y), Index(x)) + channel_offset<V, Index>(p.output, channel)) = rounded;
    widen<V>(sum, rounded);
    total.take(sum, {}, coefficients);
  }
  if constexpr (sums::wanted) {
    __shared__ typename sums::part parts[row_lanes * width];
    store_sums<C, V, Lanes>(parts, p.partial, total);
  }
}

// Input gradient: each pixel of dX gathers from the outputs that used it. One
// thread for V channels of one pixel.
template <class Index, int C, int Kernel, int Stride, int V, int Lanes, bool Accumulate, class DY, class DX>
__device__ __forceinline__ void depthwise_gradient_plain(const reprise_convolution_arguments &p) {
  constexpr int width = Lanes * V, padding = (Kernel - 1) / 2;
  const int channel = blockIdx.y * width + threadIdx.x % Lanes * V;
  const Index item = Index(blockIdx.x) * (depthwise_threads / Lanes) + threadIdx.x / Lanes;
  const int x = int(item % Index(p.output_width)), y = int(item / Index(p.output_width) % Index(p.output_height));
  const Index n = item / Index(p.output_width) / Index(p.output_height);
  if (n >= Index(p.batch) || channel >= C)
    return;
  DX *to = pointer<DX>(p.output.data) + pixel_offset(p.output, n, Index(y), Index(x)) + channel_offset<V, Index>(p.output, channel);
  float sum[V] = {};
  if constexpr (Accumulate)
    widen<V>(sum, fetch_channels<C, V>(static_cast<const DX *>(to), channel));
  for (int ky = 0; ky < Kernel; ky++) {
    const int ay = y + padding - ky;
    if (ay < 0 || ay % Stride != 0 || ay / Stride >= p.input_height)
      continue;
    for (int kx = 0; kx < Kernel; kx++) {
      const int ax = x + padding - kx;
      if (ax < 0 || ax % Stride != 0 || ax / Stride >= p.input_width)
        continue;
      float v[V];
      widen<V>(v, fetch_channels<C, V>(pointer<const DY>(p.input.data) + pixel_offset(p.input, n, Index(ay / Stride), Index(ax / Stride)) + channel_offset<V, Index>(p.input, channel), channel));
#pragma unroll
      for (int i = 0; i < V; i++)
        if (channel + i < C)
          sum[i] = fused_multiply_add(v[i], pointer<const float>(p.weight)[(channel + i) * Kernel * Kernel + ky * Kernel + kx], sum[i]);
    }
  }
  store<V>(to, sum);
}

// Weight gradient, pass 1: a block sums one row of taps over a span of pixels,
// each thread every (256/Lanes)-th pixel; row lanes then merge in order. Partial
// sums lie as [span][tap][C], which weight_gradient_reduce adds in pass 2.
// Grid: (spans, channel sets, tap rows). Block: 256 threads.
template <class Index, int C, int Kernel, int Stride, int V, int Lanes, class X, class DY>
__device__ __forceinline__ void depthwise_weight_gradient_partial(const reprise_weight_gradient_arguments &p) {
  constexpr int padding = (Kernel - 1) / 2;
  __shared__ one_sum shared[reduce_warps * Lanes * V];
  const int ky = blockIdx.z, channel = (blockIdx.y * Lanes + threadIdx.x % Lanes) * V;
  const Index pixels = Index(p.batch) * Index(p.output_height) * Index(p.output_width);
  const Index begin = Index(blockIdx.x) * Index(p.span), end = smaller(begin + Index(p.span), pixels);
  one_sum part[Kernel][V] = {};
  if (channel < C)
    for (Index pixel = begin + threadIdx.x / Lanes; pixel < end; pixel += reduce_threads / Lanes) {
      const Index column = pixel % Index(p.output_width), rest = pixel / Index(p.output_width);
      const Index row = rest % Index(p.output_height), n = rest / Index(p.output_height);
      const int sy = int(row) * Stride - padding + ky;
      if (sy < 0 || sy >= p.input_height)
        continue;
      float dy[V];
      widen<V>(dy, fetch_channels<C, V>(pointer<const DY>(p.dy.data) + pixel_offset(p.dy, n, row, column) + channel_offset<V, Index>(p.dy, channel), channel));
#pragma unroll
      for (int kx = 0; kx < Kernel; kx++) {
        const int sx = int(column) * Stride - padding + kx;
        if (sx < 0 || sx >= p.input_width)
          continue;
        float x[V];
        widen<V>(x, fetch_channels<C, V>(pointer<const X>(p.x.data) + pixel_offset(p.x, n, Index(sy), Index(sx)) + channel_offset<V, Index>(p.x, channel), channel));
#pragma unroll
        for (int i = 0; i < V; i++)
          part[kx][i].a = fused_multiply_add(dy[i], x[i], part[kx][i].a);
      }
    }
  float *to = pointer<float>(p.partial) + (int64_t(blockIdx.x) * Kernel * Kernel + ky * Kernel) * C;
#pragma unroll
  for (int kx = 0; kx < Kernel; kx++) {
    const one_sum total = merge_rows<Lanes>(part[kx], shared);
    const int written = blockIdx.y * Lanes * V + threadIdx.x;
    if (threadIdx.x < Lanes * V && written < C)
      to[kx * C + written] = total.a;
  }
}

} // namespace reprise

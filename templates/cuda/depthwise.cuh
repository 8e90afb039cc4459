// Depthwise convolution, one filter a channel, and its gradients.
//
// The last group of V channels may reach beyond C where maps are padded; its
// filters are zero there.
//
// Tiling, forward and input gradient: a thread makes V channels of a strip of
// four pixels, one below the other, so that an input row is loaded once for all
// output rows that it meets. The block's filters lie in shared memory as
// [tap][channel]. Lanes of channels are neighbours in a warp. A thread goes on to
// the strip that lies a grid further, and may sum what it writes (see sums.cuh).
// Grid: (strips of pixels or fewer, sets of Lanes*V channels). Block: 128 threads.
#pragma once
#include "convolution.cuh"

namespace reprise {

constexpr int strip = 4;

template <int V, class Index>
__device__ __forceinline__ Index channel_offset(const reprise_map &m, int channel) {
  return Index(channel) * Index(V > 1 ? 1 : m.channel);
}

// The filters of a block's channels; Flip turns them by half a turn, which
// makes the input gradient of stride 1 a forward pass.
template <int C, int Taps, int Width, bool Flip>
__device__ __forceinline__ void load_filters(float *to, uint64_t weight, int first) {
  for (int i = threadIdx.x; i < Taps * Width; i += tile_threads) {
    const int channel = first + i % Width, tap = i / Width;
    to[i] = channel < C ? pointer<const float>(weight)[channel * Taps + (Flip ? Taps - 1 - tap : tap)] : 0x0p+0f;
  }
  __syncthreads();
}

// One strip: where it starts, and its sums of products.
template <class Index, int C, int Kernel, int Stride, int V, class X>
struct depthwise_strip {
  static constexpr int padding = (Kernel - 1) / 2, reach = (strip - 1) * Stride + Kernel;
  Index n;
  int x, y;
  float sum[strip][V];

  __device__ __forceinline__ depthwise_strip(const reprise_convolution_arguments &p, Index item) {
    const Index strips = Index(ceiling(p.output_height, strip));
    x = int(item % Index(p.output_width));
    y = int(item / Index(p.output_width) % strips) * strip;
    n = item / Index(p.output_width) / strips;
  }

  // filter holds [tap][width], the thread's channels from lane on.
  __device__ __forceinline__ void accumulate(const reprise_convolution_arguments &p, const float *filter, int width, int lane, int channel) {
    const X *from = pointer<const X>(p.input.data) + n * Index(p.input.image) + channel_offset<V, Index>(p.input, channel);
    for (int kx = 0; kx < Kernel; kx++) {
      const int sx = x * Stride - padding + kx;
      if (sx < 0 || sx >= p.input_width)
        continue;
#pragma unroll
      for (int r = 0; r < reach; r++) {
        const int sy = y * Stride - padding + r;
        if (sy < 0 || sy >= p.input_height)
          continue;
        float v[V];
        widen<V>(v, fetch_channels<C, V>(from + Index(sy) * Index(p.input.row) + Index(sx) * Index(p.input.column), channel));
#pragma unroll
        for (int s = 0; s < strip; s++) {
          const int ky = r - s * Stride;
          if (ky < 0 || ky >= Kernel)
            continue;
          float w[V];
          load<V>(w, filter + (ky * Kernel + kx) * width + lane);
#pragma unroll
          for (int i = 0; i < V; i++)
            sum[s][i] = fused_multiply_add(v[i], w[i], sum[s][i]);
        }
      }
    }
  }

  // Writes the strip and sums it on the way.
  template <bool Accumulate, class Y, class Sums>
  __device__ __forceinline__ void write(const reprise_convolution_arguments &p, int channel, Sums &total) const {
    const typename Sums::coefficients coefficients(p, channel);
#pragma unroll
    for (int s = 0; s < strip; s++) {
      if (y + s >= p.output_height)
        break;
      Y *to = pointer<Y>(p.output.data) + pixel_offset(p.output, n, Index(y + s), Index(x)) + channel_offset<V, Index>(p.output, channel);
      group<typename Sums::below, V> below;
      if constexpr (Sums::reads_below)
        below = fetch_channels<C, V>(pointer<const typename Sums::below>(p.below.data) + pixel_offset(p.below, n, Index(y + s), Index(x)) + channel_offset<V, Index>(p.below, channel), channel);
      float v[V], old[V] = {};
      if constexpr (Accumulate)
        widen<V>(old, fetch_channels<C, V>(static_cast<const Y *>(to), channel));
#pragma unroll
      for (int i = 0; i < V; i++)
        v[i] = sum[s][i] + old[i];
      const group<Y, V> rounded = narrow<Y>(v);
      *reinterpret_cast<group<Y, V> *>(to) = rounded;
      widen<V>(v, rounded);
      total.take(v, below, coefficients);
    }
  }
};

template <class Index, int C, int Kernel, int Stride, int V, int Lanes, bool Flip, bool HasBias, bool Accumulate, class X, class Y, class Sums>
__device__ __forceinline__ void depthwise(const reprise_convolution_arguments &p) {
  using sums = typename Sums::template of<C, V, Y>;
  using part = typename sums::part;
  constexpr int width = Lanes * V, row_lanes = tile_threads / Lanes;
  alignas(16) __shared__ float filter[Kernel * Kernel * width];
  load_filters<C, Kernel * Kernel, width, Flip>(filter, p.weight, blockIdx.y * width);
  const int lane = threadIdx.x % Lanes * V, channel = blockIdx.y * width + lane;
  const Index items = Index(p.batch) * Index(ceiling(p.output_height, strip)) * Index(p.output_width);
  float bias[V] = {};
  if constexpr (HasBias)
#pragma unroll
    for (int i = 0; i < V; i++)
      bias[i] = channel + i < C ? pointer<const float>(p.bias)[channel + i] : 0x0p+0f;
  sums total;
  sums::start(p);
  if (channel < C)
    for (Index item = Index(blockIdx.x) * row_lanes + threadIdx.x / Lanes; item < items; item += Index(gridDim.x) * row_lanes) {
      depthwise_strip<Index, C, Kernel, Stride, V, X> at(p, item);
#pragma unroll
      for (int s = 0; s < strip; s++)
#pragma unroll
        for (int i = 0; i < V; i++)
          at.sum[s][i] = bias[i];
      at.accumulate(p, filter, width, lane, channel);
      at.template write<Accumulate, Y>(p, channel, total);
    }
  if constexpr (sums::wanted) {
    __shared__ part parts[row_lanes * width];
#pragma unroll
    for (int i = 0; i < V; i++)
      parts[threadIdx.x / Lanes * width + lane + i] = total.result(i);
    __syncthreads();
    for (int c = threadIdx.x; c < width; c += tile_threads)
      if (int(blockIdx.y) * width + c < C)
        pointer<part>(p.partial)[int64_t(blockIdx.x) * C + blockIdx.y * width + c] = merge_column<row_lanes, width>(parts + c);
  }
}

// Input gradient of a stride above 1: each pixel of dX gathers from the outputs
// that used it. One thread for V channels of one pixel.
template <class Index, int C, int Kernel, int Stride, int V, int Lanes, bool Accumulate, class DY, class DX>
__device__ __forceinline__ void depthwise_gradient_strided(const reprise_convolution_arguments &p) {
  constexpr int width = Lanes * V, padding = (Kernel - 1) / 2;
  alignas(16) __shared__ float filter[Kernel * Kernel * width];
  load_filters<C, Kernel * Kernel, width, false>(filter, p.weight, blockIdx.y * width);
  const int lane = threadIdx.x % Lanes * V, channel = blockIdx.y * width + lane;
  const Index item = Index(blockIdx.x) * (tile_threads / Lanes) + threadIdx.x / Lanes;
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
      float v[V], w[V];
      widen<V>(v, fetch_channels<C, V>(pointer<const DY>(p.input.data) + pixel_offset(p.input, n, Index(ay / Stride), Index(ax / Stride)) + channel_offset<V, Index>(p.input, channel), channel));
      load<V>(w, filter + (ky * Kernel + kx) * width + lane);
#pragma unroll
      for (int i = 0; i < V; i++)
        sum[i] = fused_multiply_add(v[i], w[i], sum[i]);
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

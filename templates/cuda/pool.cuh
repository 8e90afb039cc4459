// Pooling and nearest upsampling. Gradients gather: each element of dX collects
// its contributions itself, in row-major order, so no two threads meet.
//
// Tiling: one thread for V channels of one pixel of the written map; channels
// are neighbours in a warp. 256 threads a block.
#pragma once
#include "reduce.cuh"

namespace reprise {

// The pixel and channels of a thread; false when it has none.
template <int C, int V, class Index>
struct place {
  Index n;
  int y, x, channel;

  __device__ __forceinline__ bool find(int batch, int height, int width) {
    const Index item = Index(blockIdx.x) * blockDim.x + threadIdx.x, pixel = item / (C / V);
    channel = int(item % (C / V)) * V;
    x = int(pixel % Index(width));
    y = int(pixel / Index(width) % Index(height));
    n = pixel / Index(width) / Index(height);
    return n < Index(batch);
  }

  __device__ __forceinline__ Index in(const reprise_map &m, int row, int column) const {
    return pixel_offset(m, n, Index(row), Index(column)) + Index(channel) * Index(V > 1 ? 1 : m.channel);
  }
};

// Largest element of each window and, on request, its place in the window:
// row-major, the first of equals, as the backward pass needs it.
template <class Index, int C, int V, int Kernel, int Stride, int Padding, bool HasIndex, class X, class Y>
__device__ __forceinline__ void max_pool(const reprise_map_arguments &p) {
  place<C, V, Index> at;
  if (!at.find(p.batch, p.output_height, p.output_width))
    return;
  float best[V];
  int chosen[V];
  bool any = false;
  for (int u = 0; u < Kernel; u++)
    for (int v = 0; v < Kernel; v++) {
      const int y = at.y * Stride - Padding + u, x = at.x * Stride - Padding + v;
      if (y < 0 || y >= p.input_height || x < 0 || x >= p.input_width)
        continue;
      float value[V];
      load<V>(value, pointer<const X>(p.x.data) + at.in(p.x, y, x));
#pragma unroll
      for (int i = 0; i < V; i++)
        if (!any || value[i] > best[i] || (value[i] != value[i] && best[i] == best[i])) { // not a number wins, as everywhere
          best[i] = value[i];
          chosen[i] = u * Kernel + v;
        }
      any = true;
    }
  store<V>(pointer<Y>(p.y.data) + at.in(p.y, at.y, at.x), best);
  if constexpr (HasIndex) {
    group<int32_t, V> g;
#pragma unroll
    for (int i = 0; i < V; i++)
      g.element[i] = chosen[i];
    *reinterpret_cast<group<int32_t, V> *>(pointer<int32_t>(p.index.data) + at.in(p.index, at.y, at.x)) = g;
  }
}

// x is dX and y is dY here; input is the map of dX.
template <class Index, int C, int V, int Kernel, int Stride, int Padding, bool Accumulate, class DY, class DX>
__device__ __forceinline__ void max_pool_gradient(const reprise_map_arguments &p) {
  place<C, V, Index> at;
  if (!at.find(p.batch, p.input_height, p.input_width))
    return;
  DX *to = pointer<DX>(p.x.data) + at.in(p.x, at.y, at.x);
  float sum[V] = {};
  if constexpr (Accumulate)
    load<V>(sum, to);
  const int above = at.y + Padding - Kernel + 1, left = at.x + Padding - Kernel + 1;
  const int first_y = above > 0 ? ceiling(above, Stride) : 0, first_x = left > 0 ? ceiling(left, Stride) : 0;
  for (int y = first_y; y * Stride <= at.y + Padding && y < p.output_height; y++)
    for (int x = first_x; x * Stride <= at.x + Padding && x < p.output_width; x++) {
      const int here = (at.y + Padding - y * Stride) * Kernel + at.x + Padding - x * Stride;
      float dy[V];
      load<V>(dy, pointer<const DY>(p.y.data) + at.in(p.y, y, x));
      const group<int32_t, V> chosen = *reinterpret_cast<const group<int32_t, V> *>(pointer<const int32_t>(p.index.data) + at.in(p.index, y, x));
#pragma unroll
      for (int i = 0; i < V; i++)
        sum[i] += chosen.element[i] == here ? dy[i] : 0x0p+0f;
    }
  store<V>(to, sum);
}

// Mean of each whole map. Grid: (batch, channel sets). Block: 256 threads.
template <class Index, int C, int V, int ChannelLanes, class X, class Y>
__device__ __forceinline__ void average_pool(const reprise_map_arguments &p) {
  __shared__ one_sum shared[reduce_warps * ChannelLanes * V];
  const int channel = (blockIdx.y * ChannelLanes + threadIdx.x % ChannelLanes) * V;
  const Index n = blockIdx.x, pixels = Index(p.input_height) * Index(p.input_width);
  one_sum part[V] = {};
  if (channel < C)
    for (Index i = threadIdx.x / ChannelLanes; i < pixels; i += reduce_threads / ChannelLanes) {
      float x[V];
      load<V>(x, pointer<const X>(p.x.data) + pixel_offset(p.x, n, i / Index(p.input_width), i % Index(p.input_width)) + Index(channel) * Index(V > 1 ? 1 : p.x.channel));
#pragma unroll
      for (int v = 0; v < V; v++)
        part[v].a += x[v];
    }
  const one_sum total = merge_rows<ChannelLanes>(part, shared);
  const int written = blockIdx.y * ChannelLanes * V + threadIdx.x;
  if (threadIdx.x < ChannelLanes * V && written < C)
    pointer<Y>(p.y.data)[n * Index(p.y.image) + Index(written) * Index(p.y.channel)] = storage<Y>::round(divide(total.a, float(pixels)));
}

template <class Index, int C, int V, bool Accumulate, class DY, class DX>
__device__ __forceinline__ void average_pool_gradient(const reprise_map_arguments &p) {
  place<C, V, Index> at;
  if (!at.find(p.batch, p.input_height, p.input_width))
    return;
  DX *to = pointer<DX>(p.x.data) + at.in(p.x, at.y, at.x);
  const float pixels = float(p.input_height) * float(p.input_width);
  float dx[V] = {};
  if constexpr (Accumulate)
    load<V>(dx, to);
#pragma unroll
  for (int i = 0; i < V; i++)
    dx[i] += divide(to_float(pointer<const DY>(p.y.data)[at.n * Index(p.y.image) + Index(at.channel + i) * Index(p.y.channel)]), pixels);
  store<V>(to, dx);
}

// Nearest upsampling: source = floor(target * in / out).
template <class Index, int C, int V, class X, class Y>
__device__ __forceinline__ void upsample(const reprise_map_arguments &p) {
  place<C, V, Index> at;
  if (!at.find(p.batch, p.output_height, p.output_width))
    return;
  const int y = int(int64_t(at.y) * p.input_height / p.output_height), x = int(int64_t(at.x) * p.input_width / p.output_width);
  float value[V];
  load<V>(value, pointer<const X>(p.x.data) + at.in(p.x, y, x));
  store<V>(pointer<Y>(p.y.data) + at.in(p.y, at.y, at.x), value);
}

// The targets of one source are a rectangle: from ceil(s * out / in) up to, and
// without, ceil((s + 1) * out / in).
template <class Index, int C, int V, bool Accumulate, class DY, class DX>
__device__ __forceinline__ void upsample_gradient(const reprise_map_arguments &p) {
  place<C, V, Index> at;
  if (!at.find(p.batch, p.input_height, p.input_width))
    return;
  auto bound = [](int s, int in, int out) { return int(ceiling(int64_t(s) * out, int64_t(in))); };
  DX *to = pointer<DX>(p.x.data) + at.in(p.x, at.y, at.x);
  float sum[V] = {};
  const int end_y = bound(at.y + 1, p.input_height, p.output_height), end_x = bound(at.x + 1, p.input_width, p.output_width);
  for (int y = bound(at.y, p.input_height, p.output_height); y < end_y; y++)
    for (int x = bound(at.x, p.input_width, p.output_width); x < end_x; x++) {
      float dy[V];
      load<V>(dy, pointer<const DY>(p.y.data) + at.in(p.y, y, x));
#pragma unroll
      for (int i = 0; i < V; i++)
        sum[i] += dy[i];
    }
  if constexpr (Accumulate) {
    float old[V];
    load<V>(old, to);
#pragma unroll
    for (int i = 0; i < V; i++)
      sum[i] += old[i];
  }
  store<V>(to, sum);
}

} // namespace reprise

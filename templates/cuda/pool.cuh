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

// The loads of a row of taps are on their way at once, those of all rows of a
// small window. Taps outside the map load from the nearest place inside, and the
// value is not used: a load under a condition would wait for its turn.
__device__ __forceinline__ int nearest(int at, int size) { return at < 0 ? 0 : smaller(at, size - 1); }

// Largest element of each window and, on request, its place in the window:
// row-major, the first of equals, as the backward pass needs it.
template <class Index, int C, int V, int Kernel, int Stride, int Padding, bool HasIndex, class X, class Y>
__device__ __forceinline__ void max_pool(const reprise_map_arguments &p) {
  place<C, V, Index> at;
  if (!at.find(p.batch, p.output_height, p.output_width))
    return;
  const int top = at.y * Stride - Padding, left = at.x * Stride - Padding;
  float best[V];
  int chosen[V];
#pragma unroll
  for (int i = 0; i < V; i++) {
    best[i] = float_from_bits(0xff800000u);                             // minus infinity
    chosen[i] = (top < 0 ? -top : 0) * Kernel + (left < 0 ? -left : 0); // the first that exists
  }
  [[maybe_unused]] constexpr int rows_at_once = Kernel <= 5 ? Kernel : 1;
#pragma unroll rows_at_once
  for (int u = 0; u < Kernel; u++) {
    const int y = top + u;
    group<X, V> row[Kernel];
#pragma unroll
    for (int v = 0; v < Kernel; v++)
      row[v] = fetch<V>(pointer<const X>(p.x.data) + at.in(p.x, nearest(y, p.input_height), nearest(left + v, p.input_width)));
#pragma unroll
    for (int v = 0; v < Kernel; v++) {
      const bool exists = y >= 0 && y < p.input_height && left + v >= 0 && left + v < p.input_width;
      float value[V];
      widen<V>(value, row[v]);
#pragma unroll
      for (int i = 0; i < V; i++) {
        // Not a number wins, as everywhere. Without branches, which would hold up loads.
        const bool larger = exists & !(value[i] <= best[i]) & (best[i] == best[i]);
        best[i] = larger ? value[i] : best[i];
        chosen[i] = larger ? u * Kernel + v : chosen[i];
      }
    }
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
  // The windows that meet this pixel, along one axis.
  constexpr int windows = (Kernel + Stride - 1) / Stride;
  const int above = at.y + Padding - Kernel + 1, left = at.x + Padding - Kernel + 1;
  const int first_y = above > 0 ? ceiling(above, Stride) : 0, first_x = left > 0 ? ceiling(left, Stride) : 0;
#pragma unroll 1
  for (int y = first_y; y * Stride <= at.y + Padding && y < p.output_height; y++) {
    group<DY, V> dys[windows];
    group<int32_t, V> chosen[windows];
#pragma unroll
    for (int w = 0; w < windows; w++) {
      const int x = smaller(first_x + w, p.output_width - 1);
      dys[w] = fetch<V>(pointer<const DY>(p.y.data) + at.in(p.y, y, x));
      chosen[w] = *reinterpret_cast<const group<int32_t, V> *>(pointer<const int32_t>(p.index.data) + at.in(p.index, y, x));
    }
#pragma unroll
    for (int w = 0; w < windows; w++) {
      const int x = first_x + w, tap_x = at.x + Padding - x * Stride;
      const int here = tap_x >= 0 && x < p.output_width ? (at.y + Padding - y * Stride) * Kernel + tap_x : -1;
      float dy[V];
      widen<V>(dy, dys[w]);
#pragma unroll
      for (int i = 0; i < V; i++)
        sum[i] += chosen[w].element[i] == here ? dy[i] : 0x0p+0f;
    }
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

// Both gradients of a depthwise convolution of stride 1 from one reading of dY
// and X.
//
// Tiling: that of the input gradient (see depthwise.cuh), with the tile of X
// beside the tile of dY. The pixels of dY that make a pixel of dX are those that
// meet the same pixel of X in the weight gradient, so a thread multiplies each
// with the filter and with X. At the end the threads of a channel add their sums
// for the filter in order. Partial sums lie as [block][tap][C], which
// weight_gradient_reduce adds.
// Grid: (tiles or fewer, sets of Lanes*V channels). Block: 256 threads.
#pragma once
#include "depthwise.cuh"

namespace reprise {

// The block's row of partial sums for the filters, one row of taps at a time.
// parts is shared memory for Kernel * V floats a thread.
template <int C, int Kernel, int V, int Lanes>
__device__ __forceinline__ void store_filters(float *parts, uint64_t partial, const float (&gradient)[Kernel * Kernel][V]) {
  constexpr int width = Lanes * V, row_lanes = depthwise_threads / Lanes;
  float *to = pointer<float>(partial) + int64_t(blockIdx.x) * Kernel * Kernel * C;
#pragma unroll
  for (int ky = 0; ky < Kernel; ky++) {
#pragma unroll
    for (int kx = 0; kx < Kernel; kx++)
      store<V>(parts + (threadIdx.x / Lanes * Kernel + kx) * width + threadIdx.x % Lanes * V, gradient[ky * Kernel + kx]);
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x; i < Kernel * width; i += depthwise_threads) {
      const int channel = blockIdx.y * width + i % width;
      float sum = parts[i];
#pragma unroll
      for (int r = 1; r < row_lanes; r++)
        sum += parts[r * Kernel * width + i];
      if (channel < C)
        to[(ky * Kernel + i / width) * C + channel] = sum;
    }
    __syncthreads(); // the parts have been read
  }
}

// Both gradients of one column of a tile: dy is the first pixel of the window of
// its first pixel, which is at x.
template <int Kernel, int V, int Strip, int Columns, int Across, int Width, class DY, class X, class Result, class Sums>
__device__ __forceinline__ void walk_down(const DY *dy, const X *x, const float (&filter)[Kernel * Kernel][V], float (&gradient)[Kernel * Kernel][V], Result &result, Sums &total, const typename Sums::coefficients &coefficients) {
  float sum[Strip][V] = {}, at[Strip][V];
#pragma unroll
  for (int r = 0; r < Strip + Kernel - 1; r++) {
    if (r < Strip)
      load<V>(at[r], x + r * Across * Width);
#pragma unroll
    for (int c = 0; c < Kernel; c++) {
      float v[V];
      load<V>(v, dy + (r * Columns + c) * Width);
#pragma unroll
      for (int ky = 0; ky < Kernel; ky++) {
        const int s = r - (Kernel - 1) + ky; // the pixel that meets this row with tap row ky
        if (s < 0 || s >= Strip)
          continue;
        const int tap = ky * Kernel + Kernel - 1 - c;
#pragma unroll
        for (int i = 0; i < V; i++) {
          sum[s][i] = fused_multiply_add(v[i], filter[tap][i], sum[s][i]);
          gradient[tap][i] = fused_multiply_add(v[i], at[s][i], gradient[tap][i]);
        }
      }
    }
    if (r >= Kernel - 1)
      result.write(r - Kernel + 1, sum[r - Kernel + 1], total, coefficients);
  }
}

template <class Index, int C, int Kernel, int V, int Lanes, int Strip, bool Vector, bool Accumulate, class DY, class DX, class X, class Sums>
__device__ __forceinline__ void depthwise_gradients(const reprise_depthwise_gradients_arguments &p) {
  using sums = typename Sums::template of<C, V, DX>;
  using position = tile_position<Index, Strip, depthwise_threads / Lanes>;
  constexpr int width = Lanes * V, taps = Kernel * Kernel, padding = (Kernel - 1) / 2, across = depthwise_threads / Lanes;
  constexpr int rows = Strip + Kernel - 1, columns = across + Kernel - 1;
  alignas(16) __shared__ DY tile_dy[rows * columns * width];
  alignas(16) __shared__ X tile_x[Strip * across * width];
  static_assert(sizeof(tile_dy) >= depthwise_threads * V * (Kernel > 2 ? Kernel : 2) * sizeof(float), "parts take the place of dY");
  const int lane = threadIdx.x % Lanes * V, column = threadIdx.x / Lanes, channel = blockIdx.y * width + lane;
  const Index tiles = position::count(p.dx.batch, p.dx.output_height, p.dx.output_width);
  float filter[taps][V], gradient[taps][V] = {};
  sums total;
  const typename sums::coefficients coefficients(p.dx, channel < C ? channel : 0);
  for (Index t = blockIdx.x; t < tiles; t += gridDim.x) {
    const position at(t, p.dx.output_height, p.dx.output_width);
    bring_pixels<C, rows, columns, width, Vector>(tile_dy, p.dx.input, at.n, at.y - padding, at.x - padding, p.dx.input_height, p.dx.input_width);
    bring_pixels<C, Strip, across, width, Vector>(tile_x, p.x, at.n, at.y, at.x, p.dx.output_height, p.dx.output_width);
    copy_commit();
    depthwise_result<V, Strip, Accumulate, DX, sums> result(p.dx, at, column, channel, channel < C);
    if (t == blockIdx.x) // behind the first copies
      load_filters<C, taps, V, Lanes, false>(filter, p.dx.weight);
    copy_wait<0>();
    __syncthreads();
    const DY *const from = tile_dy + column * width + lane;
    const X *const centre = tile_x + column * width + lane;
    walk_down<Kernel, V, Strip, columns, across, width>(from, centre, filter, gradient, result, total, coefficients);
    __syncthreads(); // the tiles have been read
  }
  store_filters<C, Kernel, V, Lanes>(reinterpret_cast<float *>(tile_dy), p.weight_partial, gradient);
  if constexpr (sums::wanted)
    store_sums<C, V, Lanes>(reinterpret_cast<typename sums::part *>(tile_dy), p.dx.partial, total);
}

} // namespace reprise

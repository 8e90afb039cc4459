// Depthwise convolution of stride 1, one filter a channel, and its input
// gradient, which is the same with filters turned by half a turn.
//
// Tiling: a block makes Strip rows and 256/Lanes columns of Lanes*V channels. The
// source comes with its halo, by asynchronous copies, as [row][column][channel];
// what lies outside the map is zero. A thread walks down a column with V
// channels, its filters in registers, so that each row is read from shared memory
// once for all outputs that it meets. A block goes on to the tile that lies a
// grid further, and may sum what it writes (see sums.cuh).
//
// Where maps are padded, the last group of V channels reaches beyond C: zeros are
// written there, and the sums go nowhere.
// Grid: (tiles or fewer, sets of Lanes*V channels). Block: 256 threads.
#pragma once
#include "sums.cuh"
#include "tile.cuh"

namespace reprise {

constexpr int depthwise_threads = 256;

// The filters of a thread's channels, by way of shared memory, which turns
// [channel][tap] around; Flip turns them by half a turn. All threads of a block
// call it.
template <int C, int Taps, int V, int Lanes, bool Flip>
__device__ __forceinline__ void load_filters(float (&to)[Taps][V], uint64_t weight) {
  constexpr int width = Lanes * V;
  alignas(16) __shared__ float filters[Taps * width];
  const int first = blockIdx.y * width;
  for (int i = threadIdx.x; i < Taps * width; i += depthwise_threads) {
    const int channel = first + i % width, tap = i / width;
    filters[i] = channel < C ? pointer<const float>(weight)[channel * Taps + (Flip ? Taps - 1 - tap : tap)] : 0x0p+0f;
  }
  __syncthreads();
#pragma unroll
  for (int tap = 0; tap < Taps; tap++)
    load<V>(to[tap], filters + tap * width + threadIdx.x % Lanes * V);
}

// Where a tile of Rows x Columns pixels lies.
template <class Index, int Rows, int Columns>
struct tile_position {
  using index = Index;
  Index n;
  int y, x;

  static __device__ __forceinline__ Index count(int batch, int height, int width) {
    return Index(batch) * Index(ceiling(height, Rows)) * Index(ceiling(width, Columns));
  }

  __device__ __forceinline__ tile_position(Index tile, int height, int width) {
    const Index across = Index(ceiling(width, Columns)), down = Index(ceiling(height, Rows)), rest = tile / across;
    n = rest / down;
    y = int(rest - n * down) * Rows;
    x = int(tile - rest * across) * Columns;
  }
};

// Starts the copies of Rows x Columns pixels of the block's channels, the first at
// (y, x) of image n.
template <int C, int Rows, int Columns, int Width, bool Vector, class T, class Index>
__device__ __forceinline__ void bring_pixels(T *to, const reprise_map &m, Index n, int y, int x, int height, int width) {
  constexpr int across = Width / chunk<T>, chunks = Rows * Columns * across;
  static_assert(Width % chunk<T> == 0 && depthwise_threads % across == 0, "a thread keeps its channels");
  const int column = threadIdx.x % across * chunk<T>, channel = blockIdx.y * Width + column;
  const int valid = C % chunk<T> == 0 ? chunk<T> : smaller(C - channel, chunk<T>);
  const T *from = pointer<const T>(m.data) + (channel < C ? n * Index(m.image) + Index(channel) * Index(Vector ? 1 : m.channel) : 0);
#pragma unroll
  for (int first = 0; first < chunks; first += depthwise_threads) {
    const int pixel = (first + int(threadIdx.x)) / across, sy = y + pixel / Columns, sx = x + pixel % Columns;
    if (first + depthwise_threads > chunks && pixel >= Rows * Columns)
      break;
    const bool inside = channel < C && unsigned(sy) < unsigned(height) && unsigned(sx) < unsigned(width);
    const Index offset = inside ? Index(sy) * Index(m.row) + Index(sx) * Index(m.column) : 0;
    bring<Vector>(to + pixel * Width + column, from + offset, inside ? valid : 0, Index(m.channel));
  }
}

// The column of a map that a thread writes, or reads beside its tile: V channels
// of the first `rows` rows.
template <int V, class T>
struct map_column {
  T *first;
  int64_t row;

  __device__ __forceinline__ map_column() {}
  template <class Position>
  __device__ __forceinline__ map_column(const reprise_map &m, const Position &at, int column, int channel) : row(m.row) {
    using index = typename Position::index;
    first = pointer<T>(m.data) + (pixel_offset(m, at.n, index(at.y), index(at.x + column)) + index(channel) * index(V > 1 ? 1 : m.channel));
  }

  template <int Rows>
  __device__ __forceinline__ void fetch_rows(group<T, V> (&to)[Rows], int rows) const {
    const T *from = first;
#pragma unroll
    for (int r = 0; r < Rows; r++, from += row)
      if (r < rows)
        to[r] = fetch<V>(from);
  }
};

// What a thread writes of one tile.
template <int V, int Strip, bool Accumulate, class Y, class Sums>
struct depthwise_result {
  using below = typename Sums::below;
  map_column<V, Y> column;
  int rows; // that exist
  group<Y, V> before[Strip];
  group<below, V> under[Strip];

  // Starts the loads of what the result is added to and of the map below.
  template <class Position>
  __device__ __forceinline__ depthwise_result(const reprise_convolution_arguments &p, const Position &at, int x, int channel, bool exists) : column(p.output, at, x, channel) {
    rows = exists && at.x + x < p.output_width ? smaller(Strip, p.output_height - at.y) : 0;
    if constexpr (Accumulate)
      column.fetch_rows(before, rows);
    if constexpr (Sums::reads_below)
      map_column<V, below>(p.below, at, x, channel).fetch_rows(under, rows);
  }

  // Writes row s and sums it on the way. Rows come in order.
  __device__ __forceinline__ void write(int s, float (&sum)[V], Sums &total, const typename Sums::coefficients &coefficients) {
    if (s >= rows)
      return;
    if constexpr (Accumulate) {
      float old[V];
      widen<V>(old, before[s]);
#pragma unroll
      for (int i = 0; i < V; i++)
        sum[i] += old[i];
    }
    const group<Y, V> rounded = narrow<Y>(sum);
    *reinterpret_cast<group<Y, V> *>(column.first) = rounded;
    column.first += column.row;
    widen<V>(sum, rounded);
    if (s == 0)
      total.take(sum, under[s], coefficients);
    else
      total.follow(sum, under[s], coefficients);
  }
};

// The block's row of partial results of the sums that it took. parts is shared
// memory for as many parts as the block has channels times threads a channel.
template <int C, int V, int Lanes, class Sums>
__device__ __forceinline__ void store_sums(typename Sums::part *parts, uint64_t partial, const Sums &total) {
  using part = typename Sums::part;
  constexpr int width = Lanes * V, row_lanes = depthwise_threads / Lanes;
#pragma unroll
  for (int i = 0; i < V; i++)
    parts[threadIdx.x / Lanes * width + threadIdx.x % Lanes * V + i] = total.result(i);
  __syncthreads();
  const int c = threadIdx.x, channel = blockIdx.y * width + c;
  if (c < width && channel < C)
    pointer<part>(partial)[int64_t(blockIdx.x) * C + channel] = merge_column<row_lanes, width>(parts + c);
}

// The results of one column of a tile: from is its first pixel, at the top left of
// the window of the first result.
template <int Kernel, int V, int Strip, int Columns, int Width, class X, class Result, class Sums>
__device__ __forceinline__ void walk_down(const X *from, const float (&filter)[Kernel * Kernel][V], const float (&bias)[V], Result &result, Sums &total, const typename Sums::coefficients &coefficients) {
  float sum[Strip][V];
#pragma unroll
  for (int r = 0; r < Strip + Kernel - 1; r++) {
    if (r < Strip)
#pragma unroll
      for (int i = 0; i < V; i++)
        sum[r][i] = bias[i];
#pragma unroll
    for (int kx = 0; kx < Kernel; kx++) {
      float v[V];
      load<V>(v, from + (r * Columns + kx) * Width);
#pragma unroll
      for (int ky = 0; ky < Kernel; ky++) {
        const int s = r - ky;
        if (s >= 0 && s < Strip)
#pragma unroll
          for (int i = 0; i < V; i++)
            sum[s][i] = fused_multiply_add(v[i], filter[ky * Kernel + kx][i], sum[s][i]);
      }
    }
    if (r >= Kernel - 1)
      result.write(r - Kernel + 1, sum[r - Kernel + 1], total, coefficients);
  }
}

template <class Index, int C, int Kernel, int V, int Lanes, int Strip, bool Vector, bool Flip, bool HasBias, bool Accumulate, class X, class Y, class Sums>
__device__ __forceinline__ void depthwise(const reprise_convolution_arguments &p) {
  using sums = typename Sums::template of<C, V, Y>;
  using position = tile_position<Index, Strip, depthwise_threads / Lanes>;
  constexpr int width = Lanes * V, taps = Kernel * Kernel, padding = (Kernel - 1) / 2;
  constexpr int rows = Strip + Kernel - 1, columns = depthwise_threads / Lanes + Kernel - 1;
  constexpr int tile_bytes = rows * columns * width * int(sizeof(X)), part_bytes = depthwise_threads * V * int(sizeof(typename sums::part));
  alignas(16) __shared__ char memory[sums::wanted && part_bytes > tile_bytes ? part_bytes : tile_bytes];
  X *const tile = reinterpret_cast<X *>(memory);
  const int lane = threadIdx.x % Lanes * V, column = threadIdx.x / Lanes, channel = blockIdx.y * width + lane;
  const Index tiles = position::count(p.batch, p.output_height, p.output_width);
  float filter[taps][V], bias[V] = {};
  if constexpr (HasBias)
#pragma unroll
    for (int i = 0; i < V; i++)
      bias[i] = channel + i < C ? pointer<const float>(p.bias)[channel + i] : 0x0p+0f;
  sums total;
  sums::start(p);
  const typename sums::coefficients coefficients(p, channel < C ? channel : 0);
  for (Index t = blockIdx.x; t < tiles; t += gridDim.x) {
    const position at(t, p.output_height, p.output_width);
    bring_pixels<C, rows, columns, width, Vector>(tile, p.input, at.n, at.y - padding, at.x - padding, p.input_height, p.input_width);
    copy_commit();
    depthwise_result<V, Strip, Accumulate, Y, sums> result(p, at, column, channel, channel < C);
    if (t == blockIdx.x) // behind the first copies
      load_filters<C, taps, V, Lanes, Flip>(filter, p.weight);
    copy_wait<0>();
    __syncthreads();
    walk_down<Kernel, V, Strip, columns, width>(static_cast<const X *>(tile + column * width + lane), filter, bias, result, total, coefficients);
    __syncthreads(); // the tile has been read
  }
  if constexpr (sums::wanted)
    store_sums<C, V, Lanes>(reinterpret_cast<typename sums::part *>(memory), p.partial, total);
}

} // namespace reprise

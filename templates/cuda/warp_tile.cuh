// What the kernels share that make 16 * Rows x 32 results a warp in 16 bits.
//
// A block makes BM pixels, counted over the whole batch, x BN channels at a time.
// Lanes exchange their results so that each holds eight neighbouring channels of
// a pixel, which it writes, and sums if wanted, without the detour through shared
// memory.
#pragma once
#include "convolution.cuh"

namespace reprise {

// The four lanes of a result row turn what they hold: lane l has columns 2l and
// 2l+1 of each of four blocks of 8 columns, and gets all columns of block l.
__device__ __forceinline__ void turn_quad(float (&v)[4][2]) {
  const int lane = threadIdx.x % 4;
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2)
#pragma unroll
    for (int j = 0; j < 4; j++)
      if ((j & bit) == 0)
#pragma unroll
        for (int e = 0; e < 2; e++) {
          const bool upper = (lane & bit) != 0;
          const float other = shuffle_xor(upper ? v[j][e] : v[j | bit][e], bit);
          v[j][e] = upper ? other : v[j][e];
          v[j | bit][e] = upper ? v[j | bit][e] : other;
        }
}

// Sums over the eight row lanes of a warp. Lanes halve the channels that they
// keep with each step, until each has one: that of column() in the warp's 32.
template <class Sums>
struct warp_sums {
  two_sums total[8];
  float count, first[8];

  __device__ __forceinline__ explicit warp_sums(const Sums &sums) : count(sums.counted()) {
#pragma unroll
    for (int i = 0; i < 8; i++)
      total[i] = sums.result(i);
    sums.template leave_first<8>(first);
  }

  static __device__ __forceinline__ int column() {
    const int lane = threadIdx.x % 32;
    return lane % 4 * 8 + (lane & 4) + (lane & 8) / 4 + (lane & 16) / 16;
  }

  template <int Kept>
  __device__ __forceinline__ void halve(int lanes) {
    const bool upper = (threadIdx.x & lanes) != 0;
#pragma unroll
    for (int i = 0; i < Kept; i++) {
      const two_sums sent = upper ? total[i] : total[i + Kept];
      total[i] = upper ? total[i + Kept] : total[i];
      total[i].merge({shuffle_xor(sent.a, lanes), shuffle_xor(sent.b, lanes)});
      first[i] = upper ? first[i + Kept] : first[i];
    }
    count += shuffle_xor(count, lanes);
  }

  __device__ __forceinline__ typename Sums::part merge() {
    halve<4>(4);
    halve<2>(8);
    halve<1>(16);
    return Sums::whole(total[0], count, first[0]);
  }
};

// PlainOutput: the pixels of the whole batch lie at equal distances and their
// channels side by side, eight of them aligned to 16 bytes. Another result is
// written element by element, and its images may lie apart.
template <class T, class Index, class S, int Rows, int BK, bool Gradient, bool PlainOutput, bool HasBias, bool Accumulate, class Y, class Sums>
struct warp_tile_kernel {
  static constexpr int V = 8, depth = Gradient ? S::CO : S::CI, width = Gradient ? S::CI : S::CO;
  static constexpr int warps_n = S::BN / 32, warps_m = S::BM / (16 * Rows), threads = 32 * warps_m * warps_n;
  using source_tile = tile<T, S::BM, BK>;
  using sums = typename Sums::template tiled<width, V, Y>;
  using part = typename sums::part;
  static_assert(PlainOutput || !(Accumulate || sums::wanted), "only a plain result is read or summed");

  const reprise_convolution_arguments &p;
  const int first_column, warp_row, warp_column, lane;
  Index pixels;

  __device__ __forceinline__ explicit warp_tile_kernel(const reprise_convolution_arguments &p)
      : p(p), first_column(blockIdx.y * S::BN), warp_row(threadIdx.x / 32 % warps_m * 16 * Rows), warp_column(threadIdx.x / 32 / warps_m * 32), lane(threadIdx.x % 32) {
    pixels = Index(p.batch) * Index(p.output_height) * Index(p.output_width);
  }

  __device__ __forceinline__ Index tiles() const { return ceiling(pixels, Index(S::BM)); }

  // The first of the eight channels that this lane writes and sums.
  __device__ __forceinline__ int channel() const { return first_column + warp_column + lane % 4 * V; }
  __device__ __forceinline__ bool writes() const { return channel() < width; }

  // Where a pixel lies.
  template <bool Plain>
  __device__ __forceinline__ Index place(const reprise_map &map, Index pixel) const {
    if constexpr (Plain)
      return pixel * Index(map.column);
    const Index image = Index(p.output_height) * Index(p.output_width), n = pixel / image;
    return n * Index(map.image) + (pixel - n * image) * Index(map.column);
  }

  // Starts the copies of a tile of weights: BN channels of the result x Depth, from
  // first_depth on. The gradient reads them as they lie, [Cout][Cin], with Cout as
  // depth.
  template <int Depth, class Tile>
  __device__ __forceinline__ void fill_weight(Tile &to, int to_depth, const T *from, int first_depth) const {
    constexpr int across = (Gradient ? S::BN : Depth) / chunk<T>, chunks = S::BN * Depth / chunk<T>;
    for (int c = threadIdx.x; c < chunks; c += threads) {
      const int row = c / across, column = c % across * chunk<T>;
      const int output = Gradient ? first_depth + row : first_column + row, input = Gradient ? first_column + column : first_depth + column;
      const bool exists = output < S::CO && input < S::Padded;
      copy_async_16(shared_address(to.at(row + (Gradient ? to_depth : 0), column + (Gradient ? 0 : to_depth))), from + (exists ? output * S::Padded + input : 0), exists ? 16 : 0);
    }
  }

  using accumulators = float[Rows][4][4];

  // Where this lane's rows of the matrices lie at depth 0, so that the steps of
  // the arithmetic differ by constants.
  __device__ __forceinline__ uint32_t source_lane(source_tile &source) const { return shared_address(source.at(warp_row + lane % 16, lane / 16 * 8)); }

  template <class Tile>
  __device__ __forceinline__ uint32_t weight_lane(Tile &weight) const {
    if constexpr (Gradient)
      return shared_address(weight.at(lane % 16, warp_column + lane / 16 * 8));
    else
      return shared_address(weight.at(warp_column + lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8));
  }

  // One slice of BK: source and weight are the lane's addresses in it.
  template <class Tile>
  static __device__ __forceinline__ void accumulate(accumulators &sum, uint32_t source, uint32_t weight) {
    constexpr int row = source_tile::stride * int(sizeof(T)), weight_row = Tile::stride * int(sizeof(T));
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
      uint32_t a[Rows][4], b[4][2];
#pragma unroll
      for (int i = 0; i < Rows; i++)
        load_matrix_4(a[i], source + i * 16 * row + k * int(sizeof(T)));
#pragma unroll
      for (int j = 0; j < 4; j += 2) {
        uint32_t r[4];
        if constexpr (Gradient)
          load_matrix_4_transposed(r, weight + k * weight_row + j * 8 * int(sizeof(T)));
        else
          load_matrix_4(r, weight + j * 8 * weight_row + k * int(sizeof(T)));
        b[j][0] = r[0], b[j][1] = r[1];
        b[j + 1][0] = r[2], b[j + 1][1] = r[3];
      }
#pragma unroll
      for (int i = 0; i < Rows; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
          multiply_16(sum[i][j], a[i], b[j], static_cast<const T *>(nullptr));
    }
  }

  // The lane's row r of a tile.
  __device__ __forceinline__ Index pixel(Index tile, int r) const { return tile * S::BM + Index(warp_row + r * 8 + lane / 4); }

  template <class E>
  __device__ __forceinline__ E *plain(const reprise_map &map, Index pixel) const { return pointer<E>(map.data) + place<true>(map, pixel) + Index(channel()); }

  // What the writing of a tile reads: the result so far and the map below.
  struct operands {
    group<Y, V> old[2 * Rows];
    group<typename sums::below, V> below[2 * Rows];
  };

  __device__ __forceinline__ void fetch(operands &to, Index tile) const {
#pragma unroll
    for (int r = 0; r < 2 * Rows; r++) {
      const Index at = pixel(tile, r);
      if (at >= pixels || !writes())
        continue;
      if constexpr (Accumulate)
        to.old[r] = fetch_channels<width, V>(plain<const Y>(p.output, at), channel());
      if constexpr (sums::reads_below)
        to.below[r] = fetch_channels<width, V>(plain<const typename sums::below>(p.below, at), channel());
    }
  }

  // Writes the warp's part of a tile and sums it on the way. All lanes exchange
  // results; those write whose pixel and channels exist.
  __device__ __forceinline__ void write(accumulators &sum, const operands &with, sums &total, Index tile) const {
    float bias[V] = {};
    if constexpr (HasBias)
#pragma unroll
      for (int i = 0; i < V; i++)
        bias[i] = channel() + i < width ? pointer<const float>(p.bias)[channel() + i] : 0x0p+0f;
    // Read again for each tile, so that they hold no register in between.
    const typename sums::coefficients coefficients(p, writes() ? channel() : 0);
#pragma unroll
    for (int r = 0; r < 2 * Rows; r++) {
      float turned[4][2], v[V], before[V] = {};
#pragma unroll
      for (int j = 0; j < 4; j++)
        turned[j][0] = sum[r / 2][j][r % 2 * 2], turned[j][1] = sum[r / 2][j][r % 2 * 2 + 1];
      turn_quad(turned);
      if constexpr (Accumulate)
        widen<V>(before, with.old[r]);
#pragma unroll
      for (int i = 0; i < V; i++)
        v[i] = turned[i / 2][i % 2] + (Accumulate ? before[i] : bias[i]);
      if (r == 0)
        total.begin_warp(v);
      if (pixel(tile, r) >= pixels || !writes())
        continue;
      const group<Y, V> rounded = narrow<Y>(v);
      store_result(pixel(tile, r), rounded);
      widen<V>(v, rounded);
      total.take(v, with.below[r], coefficients);
    }
  }

  __device__ __forceinline__ void store_result(Index pixel, const group<Y, V> &result) const {
    if constexpr (PlainOutput) {
      *reinterpret_cast<group<Y, V> *>(plain<Y>(p.output, pixel)) = result;
    } else {
      Y *to = pointer<Y>(p.output.data) + place<false>(p.output, pixel) + Index(channel()) * Index(p.output.channel);
#pragma unroll
      for (int i = 0; i < V; i++)
        if (channel() + i < width)
          to[Index(i) * Index(p.output.channel)] = result.element[i];
    }
  }

  // The block's row of partial results: warps of the same channels in order. parts
  // has room for warps_m * BN of them.
  __device__ __forceinline__ void write_sums(part *parts, const sums &total) const {
    const part mine = warp_sums<sums>(total).merge();
    __syncthreads(); // all have left the memory
    parts[warp_row / (16 * Rows) * S::BN + warp_column + warp_sums<sums>::column()] = mine;
    __syncthreads();
    const int column = first_column + int(threadIdx.x);
    if (threadIdx.x < S::BN && column < width)
      pointer<part>(p.partial)[int64_t(blockIdx.x) * width + column] = merge_column<warps_m, S::BN>(parts + threadIdx.x);
  }
};

} // namespace reprise

// What the kernels share that make 16 * Rows x 32 (or 16) results a warp in 16 bits.
//
// A block makes BM pixels, counted over the whole batch, x BN channels at a time.
// Lanes exchange their results so that each holds eight neighbouring channels of
// a pixel, which it writes, and sums if wanted, without the detour through shared
// memory.
#pragma once
#include "convolution.cuh"
#include "neighbours.cuh"

namespace reprise {

// Sums over the row lanes of a warp, Lanes of which lie side by side. Lanes halve
// the channels that they keep with each step, until each has one: that of column().
template <class Sums, int Lanes>
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
    return lane % Lanes * 8 + (lane / Lanes & 1) * 4 + (lane / Lanes & 2) + (lane / Lanes & 4) / 4;
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
    halve<4>(Lanes);
    halve<2>(2 * Lanes);
    halve<1>(4 * Lanes);
    for (int lanes = 8 * Lanes; lanes < 32; lanes *= 2) {
      total[0].merge(total[0].from(lanes));
      count += shuffle_xor(count, lanes);
    }
    return Sums::whole(total[0], count, first[0]);
  }
};

// Rows of a tile that are pixels of the whole batch from `first` on. Plain: they
// lie at equal distances; else images may lie apart.
template <class Index>
struct pixel_rows {
  Index first, pixels, image; // pixels in all, and of an image

  __device__ __forceinline__ bool exists(int row) const { return first + Index(row) < pixels; }

  template <bool Plain>
  __device__ __forceinline__ Index offset(const reprise_map &map, int row) const {
    const Index pixel = first + Index(row);
    if constexpr (Plain)
      return pixel * Index(map.column);
    const Index n = pixel / image;
    return n * Index(map.image) + (pixel - n * image) * Index(map.column);
  }
};

// PlainOutput: channels of the result lie side by side, eight of them aligned to
// 16 bytes. Another result is written element by element.
template <class T, class Index, class S, int Rows, int BK, bool Gradient, bool PlainOutput, bool HasBias, bool Accumulate, class Y, class Sums>
struct warp_tile_kernel {
  static constexpr int V = 8, depth = Gradient ? S::CO : S::CI, width = Gradient ? S::CI : S::CO;
  static constexpr int columns = smaller(S::BN, 32); // of a warp
  using lanes_of = neighbour_lanes<columns / 8>;
  static constexpr int lanes = lanes_of::sets, groups = lanes_of::groups;
  static constexpr bool adds = HasBias || Accumulate;
  static constexpr int warps_n = S::BN / columns, warps_m = S::BM / (16 * Rows), threads = 32 * warps_m * warps_n;
  using source_tile = tile<T, S::BM, BK>;
  using sums = typename Sums::template tiled<width, V, Y>;
  using part = typename sums::part;
  static_assert(PlainOutput || !(Accumulate || sums::wanted), "only a plain result is read or summed");

  const reprise_convolution_arguments &p;
  const int first_column, warp_row, warp_column, lane;
  Index pixels;

  __device__ __forceinline__ explicit warp_tile_kernel(const reprise_convolution_arguments &p)
      : p(p), first_column(blockIdx.y * S::BN), warp_row(threadIdx.x / 32 % warps_m * 16 * Rows), warp_column(threadIdx.x / 32 / warps_m * columns), lane(threadIdx.x % 32) {
    pixels = Index(p.batch) * Index(p.output_height) * Index(p.output_width);
  }

  __device__ __forceinline__ Index tiles() const { return ceiling(pixels, Index(S::BM)); }
  __device__ __forceinline__ pixel_rows<Index> rows_of(Index tile) const { return {tile * S::BM, pixels, Index(p.output_height) * Index(p.output_width)}; }

  // The first of the eight channels that this lane writes and sums.
  __device__ __forceinline__ int channel() const { return first_column + warp_column + lanes_of::channel(); }
  __device__ __forceinline__ bool writes() const { return channel() < width; }

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

  using accumulators = float[Rows][columns / 8][4];

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

  // One slice of BK: source and weight are the lane's addresses in it. Blocks of
  // 16 rows lie RowsApart bytes apart.
  template <class Tile, int RowsApart = 16 * source_tile::stride * int(sizeof(T))>
  static __device__ __forceinline__ void accumulate(accumulators &sum, uint32_t source, uint32_t weight) {
    constexpr int weight_row = Tile::stride * int(sizeof(T));
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
      uint32_t a[Rows][4], b[columns / 8][2];
#pragma unroll
      for (int i = 0; i < Rows; i++)
        load_matrix_4(a[i], source + i * RowsApart + k * int(sizeof(T)));
#pragma unroll
      for (int j = 0; j < columns / 8; j += 2) {
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
        for (int j = 0; j < columns / 8; j++)
          multiply_16(sum[i][j], a[i], b[j], static_cast<const T *>(nullptr));
    }
  }

  // The row of the tile of the lane's group g.
  __device__ __forceinline__ int row(int g) const {
    return warp_row + g / groups * 16 + g % groups * 8 + lanes_of::pixel();
  }

  template <class E, class Where>
  __device__ __forceinline__ E *plain(const Where &where, const reprise_map &map, int row) const { return pointer<E>(map.data) + where.template offset<true>(map, row) + Index(channel()); }

  // What the writing of a tile reads: the result so far and the map below.
  struct operands {
    group<Y, V> old[groups * Rows];
    group<typename sums::below, V> below[groups * Rows];
  };

  // where tells which rows of the tile exist, and where they lie in maps.
  template <class Where>
  __device__ __forceinline__ void fetch(operands &to, const Where &where) const {
#pragma unroll
    for (int g = 0; g < groups * Rows; g++) {
      if (!where.exists(row(g)) || !writes())
        continue;
      if constexpr (Accumulate)
        to.old[g] = fetch_channels<width, V>(plain<const Y>(where, p.output, row(g)), channel());
      if constexpr (sums::reads_below)
        to.below[g] = fetch_channels<width, V>(plain<const typename sums::below>(where, p.below, row(g)), channel());
    }
  }

  // Writes the warp's part of a tile and sums it on the way. All lanes exchange
  // results; those write whose pixel and channels exist.
  template <class Where>
  __device__ __forceinline__ void write(const accumulators &sum, const operands &with, sums &total, const Where &where) const {
    float add[V] = {};
    if constexpr (HasBias)
#pragma unroll
      for (int i = 0; i < V; i++)
        add[i] = channel() + i < width ? pointer<const float>(p.bias)[channel() + i] : 0x0p+0f;
    // Read again for each tile, so that they hold no register in between.
    const typename sums::coefficients coefficients(p, writes() ? channel() : 0);
#pragma unroll
    for (int g = 0; g < groups * Rows; g++) {
      if constexpr (Accumulate)
        widen<V>(add, with.old[g]);
      const group<Y, V> result = neighbours_of<Y, adds>(sum[g / groups], g % groups, add);
      float v[V];
      widen<V>(v, result);
      if (g == 0)
        total.template begin_warp<lanes>(v);
      if (!where.exists(row(g)) || !writes())
        continue;
      store_result(where, row(g), result);
      total.take(v, with.below[g], coefficients);
    }
  }

  template <class Where>
  __device__ __forceinline__ void store_result(const Where &where, int row, const group<Y, V> &result) const {
    if constexpr (PlainOutput) {
      *reinterpret_cast<group<Y, V> *>(plain<Y>(where, p.output, row)) = result;
    } else {
      Y *to = pointer<Y>(p.output.data) + where.template offset<false>(p.output, row) + Index(channel()) * Index(p.output.channel);
#pragma unroll
      for (int i = 0; i < V; i++)
        if (channel() + i < width)
          to[Index(i) * Index(p.output.channel)] = result.element[i];
    }
  }

  // The block's row of partial results: warps of the same channels in order. parts
  // has room for warps_m * BN of them.
  __device__ __forceinline__ void write_sums(part *parts, const sums &total) const {
    const part mine = warp_sums<sums, lanes>(total).merge();
    __syncthreads(); // all have left the memory
    if (lane < 8 * lanes)
      parts[warp_row / (16 * Rows) * S::BN + warp_column + warp_sums<sums, lanes>::column()] = mine;
    __syncthreads();
    const int column = first_column + int(threadIdx.x);
    if (threadIdx.x < S::BN && column < width)
      pointer<part>(p.partial)[int64_t(blockIdx.x) * width + column] = merge_column<warps_m, S::BN>(parts + threadIdx.x);
  }
};

} // namespace reprise

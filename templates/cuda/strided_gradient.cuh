// Input gradient of a 3x3 convolution of stride 2, in 16 bits.
//
// The pixels of dX fall into four parity classes, which meet 1, 2, 2 and 4 of the
// taps. A pixel of each class meets the same pixel of dY and its neighbours to the
// right and below.
//
// Tiling: a block makes 2 x 2 pixels of dX for each of BM pixels of dY, and BN
// channels, at a time. The tile of dY, with one row and one column more and all
// its channels, lies in shared memory once for all classes. Weights come tap by
// tap, `slice` channels of dY at a time, through a ring of stages, or stay there
// when all fit. A class goes from the registers of the tensor cores to memory, and
// into the sums, while the next one starts.
// Grid: (tiles or fewer, channels/BN, 1). Block: 128 threads. Any grid along x is
// right, so that other precisions take the same launch with the kernel of
// convolution.cuh. Shared memory is dynamic; Shared is what a launch asks for.
#pragma once
#include "convolution.cuh"
#include "neighbours.cuh"

namespace reprise {

template <class T, class Index, class S, int Stages, int Shared, bool Accumulate, class Y, class Sums>
struct strided_gradient_kernel {
  static constexpr int V = 8, depth = S::CO, width = S::CI, tile_height = 8, tile_width = S::BM / tile_height;
  static constexpr int slice = depth % 64 == 0 ? 64 : depth % 32 == 0 ? 32
                                                                      : 16;
  static constexpr int slices = depth / slice, steps = 9 * slices;
  static constexpr bool resident = Stages >= steps;
  static_assert(S::Kernel == 3 && S::Groups == 1 && S::Stride == 2 && depth % 16 == 0, "no layer for this kernel");

  static constexpr int rows = tile_height + 1, columns = tile_width + 1;
  using source_tile = tile<T, rows * columns, depth>;
  using product = tensor_product<T, false, S::BM, S::BN, slice, false, true>;
  using weight_tile = typename product::tile_b;

  using lanes = neighbour_lanes<product::columns>;
  static constexpr int groups = lanes::groups, row_lanes = product::warps_m * lanes::pixels;
  using sums = typename Sums::template of<width, V, Y>;
  using part = typename sums::part;
  using neighbours = group<Y, V>;
  union memory {
    struct {
      source_tile source;
      weight_tile ring[Stages];
    } work;
    part parts[row_lanes * S::BN];
  };
  static_assert(sizeof(memory) <= Shared, "the launch asks for too little shared memory");

  const reprise_convolution_arguments &p;
  memory &shared;
  const int first_output;          // channel
  uint32_t pixel[product::rows];   // where this lane's row of 16 pixels of the source begins, in bytes
  int rows_left, columns_left;     // of dX from this thread's first pixel on; no rows beyond the last channel
  Index first_result, first_below; // its places
  int parity_y, parity_x;          // of the class

  __device__ __forceinline__ explicit strided_gradient_kernel(const reprise_convolution_arguments &p)
      : p(p), shared(dynamic_memory<memory>()), first_output(blockIdx.y * S::BN) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < product::rows; i++) {
      const int m = product::first_row() + i * 16 + lane % 16;
      pixel[i] = shared_address(shared.work.source.at(m / tile_width * columns + m % tile_width, lane / 16 * 8));
    }
  }

  __device__ __forceinline__ Index across() const { return Index(ceiling(p.output_width, 2 * tile_width)); }
  __device__ __forceinline__ Index down() const { return Index(ceiling(p.output_height, 2 * tile_height)); }
  __device__ __forceinline__ Index tiles() const { return Index(p.batch) * down() * across(); }

  // Moves to a tile.
  __device__ __forceinline__ void enter(Index tile) {
    const int first = product::first_row() + lanes::pixel();
    const int x = 2 * (int(tile % across()) * tile_width + first % tile_width), y = 2 * (int(tile / across() % down()) * tile_height + first / tile_width);
    const Index n = tile / across() / down();
    rows_left = channel() < width ? p.output_height - y : 0;
    columns_left = p.output_width - x;
    first_result = pixel_offset(p.output, n, Index(y), Index(x)) + Index(channel());
    if constexpr (sums::reads_below)
      first_below = pixel_offset(p.below, n, Index(y), Index(x)) + Index(channel());
  }

  __device__ __forceinline__ int channel() const { return first_output + product::first_column() + lanes::channel(); }

  // Taps in the order of the classes, a digit each.
  static __device__ __forceinline__ int tap(int number) { return int(0x862071534ull >> (4 * number)) & 15; }

  __device__ __forceinline__ void fill_source(Index tile) const {
    constexpr int chunks = depth / chunk<T>;
    const T *from = pointer<const T>(p.input.data) + tile / across() / down() * Index(p.input.image);
    const int first_y = int(tile / across() % down()) * tile_height, first_x = int(tile % across()) * tile_width;
    for (int c = threadIdx.x; c < rows * columns * chunks; c += tile_threads) {
      const int i = c / chunks, at = c % chunks * chunk<T>, y = first_y + i / columns, x = first_x + i % columns;
      const bool inside = y < p.input_height && x < p.input_width;
      bring<true>(shared.work.source.at(i, at), from + (inside ? Index(y) * Index(p.input.row) + Index(x) * Index(p.input.column) + Index(at) : 0), inside ? chunk<T> : 0, 1);
    }
  }

  // Weights lie as [tap][Cout][Cin]. There is never a part of a slice.
  __device__ __forceinline__ void fill_weights(int number, int stage) const {
    constexpr int across = S::BN / chunk<T>, together = tile_threads / across;
    const int row = threadIdx.x / across, column = threadIdx.x % across * chunk<T>, input = first_output + column;
    const T *from = pointer<const T>(p.weight) + tap(number / slices) * (S::CO * S::Padded) + (number % slices * slice + row) * S::Padded + input;
    weight_tile &to = shared.work.ring[stage];
#pragma unroll
    for (int r = 0; r < slice; r += together) {
      if (slice % together != 0 && row + r >= slice)
        break;
      bring<true>(to.at(row + r, column), from + r * S::Padded, S::Padded % S::BN == 0 || input < S::Padded ? chunk<T> : 0, 1);
    }
  }

  // Taps of the first row and column meet the neighbours in dY.
  __device__ __forceinline__ void accumulate(product &sum, int number, int stage) const {
    const int t = tap(number / slices);
    const uint32_t offset = uint32_t(((t < 3 ? columns : 0) + (t % 3 == 0 ? 1 : 0)) * source_tile::stride + number % slices * slice) * uint32_t(sizeof(T));
    sum.accumulate_rows([&](int i, int k) { return pixel[i] + offset + uint32_t(k * int(sizeof(T))); }, shared.work.ring[stage]);
  }

  // The k-th result of a class is `down` rows and `right` columns of the class from
  // the first. Places are sums of few terms, and nothing branches, so that eight
  // results are on their way at once.
  static __device__ __forceinline__ int down(int k) { return k * lanes::pixels / tile_width; }
  static __device__ __forceinline__ int right(int k) { return k * lanes::pixels % tile_width; }
  __device__ __forceinline__ Index place(const reprise_map &map, Index first, int k) const {
    return first + Index(down(k) * 2 + parity_y) * Index(map.row) + Index(right(k) * 2 + parity_x) * Index(map.column);
  }
  __device__ __forceinline__ bool exists(int k) const { return down(k) * 2 + parity_y < rows_left && right(k) * 2 + parity_x < columns_left; }

  // What the results of a class meet in memory. The first part is on its way
  // during the arithmetic; more would take too many registers.
  static constexpr int results = product::rows * groups, early = smaller(results, 4);
  struct operands {
    group<typename sums::below, V> below[results];
    neighbours old[results];
  };

  template <int First, int End>
  __device__ __forceinline__ void fetch_operands(operands &to) const {
#pragma unroll
    for (int k = First; k < End; k++) {
      to.below[k] = {};
      to.old[k] = {};
      if (sums::reads_below && exists(k))
        to.below[k] = fetch_channels<width, V>(pointer<const typename sums::below>(p.below.data) + place(p.below, first_below, k), channel());
      if (Accumulate && exists(k))
        to.old[k] = fetch_channels<width, V>(pointer<const Y>(p.output.data) + place(p.output, first_result, k), channel());
    }
  }

  __device__ __forceinline__ void write(const product &sum, const operands &with, sums &total) const {
    // Read again for each class, so that they hold no register in between.
    const typename sums::coefficients coefficients(p, channel() < width ? channel() : 0);
#pragma unroll
    for (int k = 0; k < results; k++) {
      float v[V], old[V] = {};
      if constexpr (Accumulate)
        widen<V>(old, with.old[k]);
      neighbours to = neighbours_of<Y, Accumulate>(sum.sum[k / groups], k % groups, old);
      if (exists(k))
        *reinterpret_cast<neighbours *>(pointer<Y>(p.output.data) + place(p.output, first_result, k)) = to;
      else
        to = {}; // adds nothing
      widen<V>(v, to);
      total.take(v, with.below[k], coefficients);
    }
  }

  // The block's row of partial results: [block][channel].
  __device__ __forceinline__ void write_sums(const sums &total) const {
    __syncthreads();
    const int row = int(threadIdx.x / 32) % product::warps_m * lanes::pixels + lanes::row();
#pragma unroll
    for (int i = 0; i < V; i++)
      shared.parts[row * S::BN + channel() - first_output + i] = total.result(i);
    __syncthreads();
    const int output = first_output + int(threadIdx.x);
    if (threadIdx.x < S::BN && output < width)
      pointer<part>(p.partial)[int64_t(blockIdx.x) * width + output] = merge_column<row_lanes, S::BN>(shared.parts + threadIdx.x);
  }

  // Waits for what step `number` of a tile needs, and starts the copies of the
  // step that takes the place of the last one in the ring.
  __device__ __forceinline__ void arrive(int number, int stage) const {
    if (number == 0)
      copy_wait<0>(); // the source too
    else if constexpr (!resident)
      copy_wait<Stages - 2>();
    if (number == 0 || !resident)
      __syncthreads();
    if constexpr (!resident) {
      fill_weights((number + Stages - 1) % steps, stage == 0 ? Stages - 1 : stage - 1);
      copy_commit();
    }
  }

  __device__ __forceinline__ void run() {
    const Index end = tiles();
    sums total;
    sums::start(p);
    if (blockIdx.x < end)
      fill_source(blockIdx.x);
    for (int s = 0; s < (resident ? steps : Stages - 1); s++) {
      fill_weights(s, s);
      copy_commit();
    }
    int stage = 0; // of a ring that runs on from tile to tile
    for (Index tile = blockIdx.x; tile < end; tile += gridDim.x) {
      enter(tile);
      int number = 0;
      for (int c = 0; c < 4; c++) {
        parity_y = c / 2, parity_x = c % 2;
        operands with;
        fetch_operands<0, early>(with);
        product sum;
        sum.clear();
        for (const int last = number + (1 + parity_y) * (1 + parity_x) * slices; number < last; number++) {
          arrive(number, stage);
          accumulate(sum, number, resident ? number : stage);
          stage = stage + 1 < Stages ? stage + 1 : 0;
        }
        if (number == steps && tile + gridDim.x < end) {
          __syncthreads(); // all have left the source
          fill_source(tile + gridDim.x);
          copy_commit();
        }
        fetch_operands<early, results>(with);
        write(sum, with, total);
      }
    }
    copy_wait<0>();
    if constexpr (sums::wanted)
      write_sums(total);
  }
};

template <class T, bool Tf32, class Index, class S, int Stages, int Shared, bool Accumulate, class Y, class Sums>
__device__ __forceinline__ void convolution_strided_gradient(const reprise_convolution_arguments &p) {
  if constexpr (sizeof(T) == 2)
    strided_gradient_kernel<T, Index, S, Stages, Shared, Accumulate, Y, Sums>(p).run();
  else
    convolution_of_all_classes<T, Tf32, Index, S, true, 8, false, Accumulate, Y, Sums>(p);
}

} // namespace reprise

// 1x1 convolution, and its input gradient, in 16 bits: a matrix product whose
// rows are the pixels of the whole batch.
//
// Tiling: a block makes a tile of BM pixels x BN channels (see warp_tile.cuh) and
// goes on to the one that lies gridDim.x tiles further. The weights of its
// channels stay in shared memory. Pixels come through a ring of stages that runs
// on from tile to tile, so that the next tile is on its way while one is written.
// Grid: (pixels/BM or fewer, channels/BN). Block: a thread for every 16 * Rows
// results. Other precisions take the same launch with the kernel of
// convolution.cuh. Shared memory is dynamic, Bytes of it.
#pragma once
#include "warp_tile.cuh"

namespace reprise {

// Slices of at most 64 channels, as even as multiples of 16 allow.
constexpr int pointwise_slices(int depth) { return ceiling(depth, 64); }
constexpr int pointwise_slice(int depth) { return ceiling(ceiling(depth, pointwise_slices(depth)), 16) * 16; }

// PlainInput, PlainOutput: the pixels of the whole batch lie at equal distances
// and their channels side by side, eight of them aligned to 16 bytes. Other maps
// are read and written element by element, and their images may lie apart.
template <class T, class Index, class S, int Rows, int Stages, bool Gradient, bool PlainInput, bool PlainOutput, bool HasBias, bool Accumulate, class Y, class Sums>
struct pointwise_kernel : warp_tile_kernel<T, Index, S, Rows, pointwise_slice(Gradient ? S::CO : S::CI), Gradient, PlainOutput, HasBias, Accumulate, Y, Sums> {
  static constexpr int depth = Gradient ? S::CO : S::CI, slices = pointwise_slices(depth), BK = pointwise_slice(depth);
  using base = warp_tile_kernel<T, Index, S, Rows, BK, Gradient, PlainOutput, HasBias, Accumulate, Y, Sums>;
  using base::p;
  using base::threads;
  using typename base::source_tile;
  using weight_tile = tile<T, Gradient ? slices * BK : S::BN, Gradient ? S::BN : slices * BK>;
  static constexpr int weight_slice = BK * int(sizeof(T)) * (Gradient ? weight_tile::stride : 1); // bytes from slice to slice
  struct memory {
    weight_tile weight;
    union {
      source_tile ring[Stages];
      typename base::part parts[base::warps_m * S::BN];
    };
  };

  Index next; // tile and slice that are brought next, and the stage that they go to
  int next_slice = 0, stage = 0;

  __device__ __forceinline__ explicit pointwise_kernel(const reprise_convolution_arguments &p) : base(p), next(blockIdx.x) {}

  // Starts the copies of the next slice; those of the first tile bring the weights.
  __device__ __forceinline__ void fill(memory &shared) {
    if (next < this->tiles()) {
      fill_source(shared.ring[stage]);
      if (next == blockIdx.x)
        this->template fill_weight<BK>(shared.weight, next_slice * BK, pointer<const T>(p.weight), next_slice * BK);
      if (++next_slice == slices) {
        next_slice = 0;
        next += gridDim.x;
      }
      stage = stage + 1 == Stages ? 0 : stage + 1;
    }
    copy_commit();
  }

  __device__ __forceinline__ void fill_source(source_tile &to) const {
    constexpr int across = BK / chunk<T>, chunks = source_tile::chunks;
    const pixel_rows<Index> rows = this->rows_of(next);
#pragma unroll
    for (int i = 0; i < ceiling(chunks, threads); i++) {
      const int c = threadIdx.x + i * threads;
      if (chunks % threads != 0 && c >= chunks)
        break;
      const int row = c / across, column = c % across * chunk<T>, at = next_slice * BK + column;
      const int valid = rows.exists(row) ? smaller(depth - at, chunk<T>) : 0;
      const Index offset = valid > 0 ? rows.template offset<PlainInput>(p.input, row) + Index(at) * Index(PlainInput ? 1 : p.input.channel) : 0;
      bring<PlainInput>(to.at(row, column), pointer<const T>(p.input.data) + offset, valid > 0 ? valid : 0, Index(p.input.channel));
    }
  }
};

template <class T, bool Tf32, class Index, class S, int Rows, int Stages, int Bytes, bool Gradient, bool PlainInput, bool PlainOutput, bool HasBias, bool Accumulate, class Y, class Sums>
__device__ __forceinline__ void convolution_pointwise(const reprise_convolution_arguments &p) {
  constexpr int threads = S::BM * S::BN / (16 * Rows);
  if constexpr (sizeof(T) != 2) {
    convolution<T, Tf32, Index, S, Gradient, false, PlainInput, PlainOutput ? 8 : 1, HasBias, Accumulate, Y, Sums, PlainInput && PlainOutput, threads>(p);
  } else {
    using kernel = pointwise_kernel<T, Index, S, Rows, Stages, Gradient, PlainInput, PlainOutput, HasBias, Accumulate, Y, Sums>;
    static_assert(sizeof(typename kernel::memory) == Bytes && kernel::threads == threads && S::Kernel == 1 && S::Stride == 1 && S::Groups == 1, "not the memory or layer of this kernel");
    auto &shared = dynamic_memory<typename kernel::memory>();
    kernel k(p);
    typename kernel::sums total;
    kernel::sums::start(p);
    const uint32_t source = k.source_lane(shared.ring[0]), weight = k.weight_lane(shared.weight);
#pragma unroll 1
    for (int s = 0; s < Stages - 1; s++)
      k.fill(shared);
    int stage = 0;
    for (Index tile = blockIdx.x; tile < k.tiles(); tile += gridDim.x) {
      typename kernel::operands operands;
      k.fetch(operands, k.rows_of(tile));
      typename kernel::accumulators sum = {};
#pragma unroll 1
      for (int slice = 0; slice < kernel::slices; slice++) {
        copy_wait<Stages - 2>();
        __syncthreads(); // the slice has arrived for all, and all have left the stage that is filled next
        k.fill(shared);
        kernel::template accumulate<typename kernel::weight_tile>(sum, source + stage * int(sizeof(typename kernel::source_tile)), weight + slice * kernel::weight_slice);
        stage = stage + 1 == Stages ? 0 : stage + 1;
      }
      k.write(sum, operands, total, k.rows_of(tile));
    }
    copy_wait<0>();
    if constexpr (kernel::sums::wanted)
      k.write_sums(shared.parts, total);
  }
}

} // namespace reprise

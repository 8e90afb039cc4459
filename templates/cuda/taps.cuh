// Convolution with several taps, and its input gradient of stride 1, in 16 bits,
// as an implicit matrix product.
//
// Tiling: a block makes a tile of BM pixels x BN channels (see warp_tile.cuh) and
// goes on to the one that lies gridDim.x tiles further. It walks over taps and,
// within a tap, over BK channels, through a ring of stages that hold pixels and
// weights and that runs on from tile to tile. A thread copies the same channels of
// the same few pixels of a tile in all steps: it keeps where the first tap of each
// lies and which rows and columns of taps are inside the map.
// Grid: (pixels/BM or fewer, channels/BN). Block: a thread for every 16 * Rows
// results. Other precisions take the same launch with the kernel of
// convolution.cuh. Shared memory is dynamic, Bytes of it.
#pragma once
#include "warp_tile.cuh"

namespace reprise {

constexpr int taps_slice(int depth) { return depth % 64 == 0 ? 64 : 32; }

template <class T, class Index, class S, int Rows, int Stages, bool Gradient, bool HasBias, bool Accumulate, class Y, class Sums>
struct taps_kernel : warp_tile_kernel<T, Index, S, Rows, taps_slice(Gradient ? S::CO : S::CI), Gradient, true, HasBias, Accumulate, Y, Sums> {
  static constexpr int depth = Gradient ? S::CO : S::CI, BK = taps_slice(depth), slices = depth / BK;
  static constexpr int all_taps = S::Kernel * S::Kernel, steps = all_taps * slices;
  using base = warp_tile_kernel<T, Index, S, Rows, BK, Gradient, true, HasBias, Accumulate, Y, Sums>;
  using base::p;
  using base::threads;
  using typename base::source_tile;
  using weight_tile = tile<T, Gradient ? BK : S::BN, Gradient ? S::BN : BK>;
  static constexpr int across = BK / chunk<T>, rows_apart = threads / across, copies = S::BM / rows_apart;
  static_assert(depth % BK == 0 && S::Kernel <= 15 && S::BM % rows_apart == 0 && (!Gradient || S::Stride == 1), "no layer for this kernel");
  struct stage {
    source_tile source;
    weight_tile weight;
  };
  union memory {
    stage ring[Stages];
    typename base::part parts[base::warps_m * S::BN];
  };

  // A pixel of the tile that is brought: where the chunk of its first tap lies,
  // wherever that is, and which rows (low half) and columns of taps exist.
  struct window {
    Index first;
    uint32_t inside;
  };

  window from[copies];
  Index next; // tile and step that are brought next, and the stage that they go to
  int row = 0, column = 0, slice = 0, to = 0;

  __device__ __forceinline__ explicit taps_kernel(const reprise_convolution_arguments &p) : base(p), next(blockIdx.x) { enter(); }

  // Bits first to first + count - 1 that lie in 0 to Kernel - 1.
  static __device__ __forceinline__ uint32_t bits(int first, int count) {
    const int begin = first < 0 ? 0 : first, end = smaller(first + count, S::Kernel);
    return end > begin ? (1u << end) - (1u << begin) : 0;
  }

  // Finds the pixels of the next tile. Taps run forward through the source of a
  // gradient too; its weights are taken the other way round.
  __device__ __forceinline__ void enter() {
    const Index width = Index(p.output_width), height = Index(p.output_height);
#pragma unroll
    for (int i = 0; i < copies; i++) {
      const Index pixel = next * S::BM + Index(threadIdx.x / across + i * rows_apart), rest = pixel / width;
      const int y = int(rest % height) * S::Stride - S::Padding, x = int(pixel % width) * S::Stride - S::Padding;
      from[i].first = rest / height * Index(p.input.image) + Index(y) * Index(p.input.row) + Index(x) * Index(p.input.column) + Index(threadIdx.x % across * chunk<T>);
      from[i].inside = pixel < this->pixels ? bits(-y, p.input_height) | bits(-x, p.input_width) << 16 : 0;
    }
  }

  // Starts the copies of the next step.
  __device__ __forceinline__ void fill(memory &shared) {
    if (next < this->tiles()) {
      const Index tap = Index(row) * Index(p.input.row) + Index(column) * Index(p.input.column) + Index(slice * BK);
      const uint32_t wanted = 1u << row | 0x10000u << column;
#pragma unroll
      for (int i = 0; i < copies; i++) {
        const bool inside = (from[i].inside & wanted) == wanted;
        copy_async_16(shared_address(shared.ring[to].source.at(threadIdx.x / across + i * rows_apart, threadIdx.x % across * chunk<T>)), pointer<const T>(p.input.data) + (inside ? Index(from[i].first + tap) : 0), inside ? 16 : 0);
      }
      const int weight_tap = row * S::Kernel + column;
      this->template fill_weight<BK>(shared.ring[to].weight, 0, pointer<const T>(p.weight) + int64_t(Gradient ? all_taps - 1 - weight_tap : weight_tap) * S::CO * S::Padded, slice * BK);
      advance();
    }
    copy_commit();
  }

  __device__ __forceinline__ void advance() {
    to = to + 1 == Stages ? 0 : to + 1;
    if (++slice < slices)
      return;
    slice = 0;
    if (++column < S::Kernel)
      return;
    column = 0;
    if (++row < S::Kernel)
      return;
    row = 0;
    next += gridDim.x;
    enter();
  }
};

template <class T, bool Tf32, class Index, class S, int Rows, int Stages, int Bytes, bool Gradient, bool HasBias, bool Accumulate, class Y, class Sums>
__device__ __forceinline__ void convolution_taps(const reprise_convolution_arguments &p) {
  constexpr int threads = S::BM * S::BN / (16 * Rows);
  if constexpr (sizeof(T) != 2) {
    convolution<T, Tf32, Index, S, Gradient, false, true, 8, HasBias, Accumulate, Y, Sums, true, threads>(p);
  } else {
    using kernel = taps_kernel<T, Index, S, Rows, Stages, Gradient, HasBias, Accumulate, Y, Sums>;
    static_assert(sizeof(typename kernel::memory) == Bytes && kernel::threads == threads && S::Groups == 1, "not the memory or layer of this kernel");
    auto &shared = dynamic_memory<typename kernel::memory>();
    kernel k(p);
    typename kernel::sums total;
    kernel::sums::start(p);
    const uint32_t source = k.source_lane(shared.ring[0].source), weight = k.weight_lane(shared.ring[0].weight);
#pragma unroll 1
    for (int s = 0; s < Stages - 1; s++)
      k.fill(shared);
    int stage = 0;
    for (Index tile = blockIdx.x; tile < k.tiles(); tile += gridDim.x) {
      typename kernel::operands operands;
      k.fetch(operands, k.rows_of(tile));
      typename kernel::accumulators sum = {};
#pragma unroll 1
      for (int step = 0; step < kernel::steps; step++) {
        copy_wait<Stages - 2>();
        __syncthreads(); // the step has arrived for all, and all have left the stage that is filled next
        k.fill(shared);
        kernel::template accumulate<typename kernel::weight_tile>(sum, source + stage * int(sizeof(typename kernel::stage)), weight + stage * int(sizeof(typename kernel::stage)));
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

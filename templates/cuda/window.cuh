// 3x3 convolution, and its input gradient of stride 1, of few channels, in 16 bits.
//
// Tiling: a block makes 8 x 16 pixels of the result at a time and all its channels
// (see warp_tile.cuh). The window of the source that they meet lies in shared
// memory once for all taps, twice in turn, so that the next one is on its way
// during the arithmetic and the writing; the weights of all taps stay there from
// tile to tile.
// Grid: (tiles or fewer). Block: 128 threads. Any grid along x is right, so that
// other precisions take the same launch with the kernel of convolution.cuh. Shared
// memory is dynamic, Bytes of it.
#pragma once
#include "warp_tile.cuh"

namespace reprise {

template <class T, class Index, class S, bool Gradient, bool HasBias, bool Accumulate, class Y, class Sums>
struct window_kernel : warp_tile_kernel<T, Index, S, 2, Gradient ? S::CO : S::CI, Gradient, true, HasBias, Accumulate, Y, Sums> {
  static constexpr int depth = Gradient ? S::CO : S::CI, stride = Gradient ? 1 : S::Stride;
  using base = warp_tile_kernel<T, Index, S, 2, depth, Gradient, true, HasBias, Accumulate, Y, Sums>;
  using base::lane;
  using base::p;
  using base::threads;
  static constexpr int tile_height = 8, tile_width = 16;
  static constexpr int rows = (tile_height - 1) * stride + 3, columns = (tile_width - 1) * stride + 3;
  static_assert(S::Kernel == 3 && S::Groups == 1 && S::BM == tile_height * tile_width && depth % 16 == 0 && base::warps_n == 1 && (!Gradient || S::Stride == 1), "no layer for this kernel");
  using window_tile = tile<T, rows * columns, depth>;
  using weight_tile = tile<T, Gradient ? depth : S::BN, Gradient ? S::BN : depth>;
  struct memory {
    weight_tile weight[9];
    union {
      window_tile window[2];
      typename base::part parts[base::warps_m * S::BN];
    };
  };

  // The tile's place: its image and first pixel.
  struct place {
    Index n;
    int y, x, height, width;

    __device__ __forceinline__ bool exists(int row) const { return y + row / tile_width < height && x + row % tile_width < width; }

    template <bool Plain>
    __device__ __forceinline__ Index offset(const reprise_map &map, int row) const { return pixel_offset(map, n, Index(y + row / tile_width), Index(x + row % tile_width)); }
  };

  __device__ __forceinline__ explicit window_kernel(const reprise_convolution_arguments &p) : base(p) {}

  __device__ __forceinline__ Index across() const { return Index(ceiling(p.output_width, tile_width)); }
  __device__ __forceinline__ Index down() const { return Index(ceiling(p.output_height, tile_height)); }
  __device__ __forceinline__ Index tiles() const { return Index(p.batch) * down() * across(); }

  __device__ __forceinline__ place at(Index tile) const {
    const Index rest = tile / across();
    return {rest / down(), int(rest % down()) * tile_height, int(tile % across()) * tile_width, p.output_height, p.output_width};
  }

  __device__ __forceinline__ void fill_weights(memory &to) const {
    for (int t = 0; t < 9; t++)
      this->template fill_weight<depth>(to.weight[t], 0, pointer<const T>(p.weight) + (Gradient ? 8 - t : t) * S::CO * S::Padded, 0);
  }

  __device__ __forceinline__ void fill_window(window_tile &to, Index tile) const {
    constexpr int chunks = depth / chunk<T>;
    const place here = at(tile);
    const int first_y = here.y * stride - 1, first_x = here.x * stride - 1, channel = threadIdx.x % chunks * chunk<T>;
    const T *from = pointer<const T>(p.input.data) + here.n * Index(p.input.image);
    for (int i = threadIdx.x / chunks; i < rows * columns; i += threads / chunks) {
      const int y = first_y + i / columns, x = first_x + i % columns;
      const bool inside = y >= 0 && y < p.input_height && x >= 0 && x < p.input_width;
      copy_async_16(shared_address(to.at(i, channel)), from + (inside ? Index(y) * Index(p.input.row) + Index(x) * Index(p.input.column) + Index(channel) : 0), inside ? 16 : 0);
    }
  }

  // Rows 16 i to 16 i + 15 of the warp's part are one row of the tile.
  __device__ __forceinline__ uint32_t window_lane(window_tile &window) const {
    return shared_address(window.at(this->warp_row / tile_width * stride * columns + lane % 16 * stride, lane / 16 * 8));
  }

  static __device__ __forceinline__ void accumulate(typename base::accumulators &sum, uint32_t window, uint32_t weight) {
    constexpr int pixel = window_tile::stride * int(sizeof(T));
#pragma unroll
    for (int t = 0; t < 9; t++)
      base::template accumulate<weight_tile, stride * columns * pixel>(sum, window + (t / 3 * columns + t % 3) * pixel, weight + t * int(sizeof(weight_tile)));
  }
};

template <class T, bool Tf32, class Index, class S, int Bytes, bool Gradient, bool HasBias, bool Accumulate, class Y, class Sums>
__device__ __forceinline__ void convolution_window(const reprise_convolution_arguments &p) {
  if constexpr (sizeof(T) != 2) {
    convolution<T, Tf32, Index, S, Gradient, false, true, 8, HasBias, Accumulate, Y, Sums>(p);
  } else {
    using kernel = window_kernel<T, Index, S, Gradient, HasBias, Accumulate, Y, Sums>;
    static_assert(sizeof(typename kernel::memory) == Bytes, "not the memory of this kernel");
    auto &shared = dynamic_memory<typename kernel::memory>();
    const kernel k(p);
    typename kernel::sums total;
    kernel::sums::start(p);
    const uint32_t window = k.window_lane(shared.window[0]), weight = k.weight_lane(shared.weight[0]);
    const Index tiles = k.tiles();
    if (blockIdx.x < tiles) {
      k.fill_weights(shared);
      k.fill_window(shared.window[0], blockIdx.x);
    }
    copy_commit();
    int buffer = 0;
    for (Index tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const typename kernel::place here = k.at(tile);
      typename kernel::operands operands;
      k.fetch(operands, here);
      copy_wait<0>();
      __syncthreads(); // the window has arrived for all, and all have left the other one
      if (tile + gridDim.x < tiles)
        k.fill_window(shared.window[1 - buffer], tile + gridDim.x);
      copy_commit();
      typename kernel::accumulators sum = {};
      kernel::accumulate(sum, window + buffer * int(sizeof(typename kernel::window_tile)), weight);
      k.write(sum, operands, total, here);
      buffer = 1 - buffer;
    }
    copy_wait<0>();
    if constexpr (kernel::sums::wanted)
      k.write_sums(shared.parts, total);
  }
}

} // namespace reprise

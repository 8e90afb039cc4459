// 3x3 convolution, and its input gradient, of few channels, in 16 bits.
//
// Tiling: a block makes 8 x 16 pixels of the result at a time and all its
// channels. The pixels of the source that they meet, with the halo around them,
// lie in shared memory once for all taps, and the weights of all taps stay there
// from tile to tile. Where there is room, the next tile is on its way during the
// arithmetic.
// Grid: (tiles or fewer, 1, parity classes). Block: 128 threads. Any grid along x
// is right, so that other precisions take the same launch with the kernel of
// convolution.cuh.
#pragma once
#include "convolution.cuh"

namespace reprise {

template <class T, bool Tf32, class Index, class S, bool Gradient, int V, bool HasBias, bool Accumulate, class Y, class Sums>
struct halo_kernel : convolution_kernel<T, Tf32, Index, S, Gradient, false, true, V, HasBias, Accumulate, Y, Sums> {
  using base = convolution_kernel<T, Tf32, Index, S, Gradient, false, true, V, HasBias, Accumulate, Y, Sums>;
  using base::depth;
  using base::p;
  using typename base::parts;
  using typename base::result;
  static constexpr int tile_height = 8, tile_width = 16;
  static_assert(S::Kernel == 3 && S::Groups == 1 && S::BM == tile_height * tile_width && depth % 16 == 0, "no layer for this kernel");
  using product = tensor_product<T, Tf32, S::BM, S::BN, depth, false, Gradient>;

  // The source: its first pixel lies `before` above and left of the tile's.
  static constexpr int stride = Gradient ? 1 : S::Stride, before = Gradient && S::Stride > 1 ? 0 : 1;
  static constexpr int rows = Gradient && S::Stride > 1 ? tile_height + 1 : (tile_height - 1) * stride + 3;
  static constexpr int columns = Gradient && S::Stride > 1 ? tile_width + 1 : (tile_width - 1) * stride + 3;
  static constexpr int most_taps = Gradient && S::Stride > 1 ? 4 : 9;
  using source_tile = tile<T, rows * columns, depth>;

  static constexpr bool ahead = int(2 * sizeof(source_tile) + most_taps * sizeof(typename product::tile_b) + sizeof(result)) <= ring_bytes;
  struct apart {
    source_tile source[2];
    result tile;
  };
  union together {
    source_tile source[1];
    result tile;
  };
  struct alignas(16) memory {
    typename product::tile_b weight[most_taps];
    union {
      typename choice<ahead, apart, together>::type work;
      parts partial;
    };
  };

  Index n;
  int y, x; // of the tile's first pixel

  __device__ __forceinline__ explicit halo_kernel(const reprise_convolution_arguments &p) : base(p, blockIdx.z) {}

  __device__ __forceinline__ Index across() const { return Index(ceiling(this->width_pixels, tile_width)); }
  __device__ __forceinline__ Index down() const { return Index(ceiling(this->height, tile_height)); }
  __device__ __forceinline__ Index tiles() const { return Index(p.batch) * down() * across(); }

  __device__ __forceinline__ void enter(Index tile) {
    x = int(tile % across()) * tile_width;
    y = int(tile / across() % down()) * tile_height;
    n = tile / across() / down();
  }

  // The taps of this parity, and where they are in the source.
  __device__ __forceinline__ int taps() const { return Gradient ? this->taps_y.count * this->taps_x.count : 9; }
  __device__ __forceinline__ int tap_row(int t) const { return Gradient ? this->taps_y.base - t / this->taps_x.count + before : t / 3; }
  __device__ __forceinline__ int tap_column(int t) const { return Gradient ? this->taps_x.base - t % this->taps_x.count + before : t % 3; }

  __device__ __forceinline__ void fill_weights(memory &to) const {
    for (int t = 0; t < taps(); t++) {
      const int across = Gradient ? this->taps_x.count : 3;
      const int ky = Gradient ? this->taps_y.first + t / across * S::Stride : t / across, kx = Gradient ? this->taps_x.first + t % across * S::Stride : t % across;
      const T *weight = pointer<const T>(p.weight) + (ky * 3 + kx) * S::CO * base::padded;
      constexpr int chunks = (Gradient ? S::BN : depth) / chunk<T>;
      for (int c = threadIdx.x; c < product::tile_b::chunks; c += tile_threads) {
        const int row = c / chunks, column = c % chunks * chunk<T>;
        const bool exists = row < S::CO && column < base::padded;
        bring<true>(to.weight[t].at(row, column), weight + (exists ? row * base::padded + column : 0), exists ? chunk<T> : 0, 1);
      }
    }
  }

  __device__ __forceinline__ void fill_source(source_tile &to) const {
    constexpr int across = depth / chunk<T>;
    const T *from = pointer<const T>(p.input.data) + n * Index(p.input.image);
    const int first_y = y * stride - before, first_x = x * stride - before, channel = threadIdx.x % across * chunk<T>;
    for (int i = threadIdx.x / across; i < rows * columns; i += tile_threads / across) {
      const int sy = first_y + i / columns, sx = first_x + i % columns;
      const bool inside = sy >= 0 && sy < p.input_height && sx >= 0 && sx < p.input_width;
      bring<true>(to.at(i, channel), from + (inside ? Index(sy) * Index(p.input.row) + Index(sx) * Index(p.input.column) + Index(channel) : 0), inside ? chunk<T> : 0, 1);
    }
  }

  __device__ __forceinline__ void accumulate(product &sum, source_tile &source, memory &shared) const {
    const int lane = threadIdx.x % 32, row = product::first_row() / tile_width;
#pragma unroll
    for (int t = 0; t < most_taps; t++) {
      if (t >= taps())
        break;
      const int first = tap_row(t) * columns + tap_column(t) + lane % 16 * stride;
      sum.accumulate_rows([&](int i, int k) { return shared_address(source.at(first + (row + i) * stride * columns, k + lane / 16 * 8)); }, shared.weight[t]);
    }
  }

  // Rows of the tile, for convolution_kernel::write.
  __device__ __forceinline__ bool exists(int m) const { return y + m / tile_width < this->height && x + m % tile_width < this->width_pixels; }
  __device__ __forceinline__ Index place(const reprise_map &map, int m) const { return base::place(map, n, Index(y + m / tile_width), Index(x + m % tile_width)); }
};

template <class T, bool Tf32, class Index, class S, bool Gradient, int V, bool HasBias, bool Accumulate, class Y, class Sums>
__device__ __forceinline__ void convolution_halo(const reprise_convolution_arguments &p) {
  if constexpr (sizeof(T) != 2) {
    convolution<T, Tf32, Index, S, Gradient, false, true, V, HasBias, Accumulate, Y, Sums>(p);
  } else {
    using kernel = halo_kernel<T, Tf32, Index, S, Gradient, V, HasBias, Accumulate, Y, Sums>;
    constexpr bool ahead = kernel::ahead;
    __shared__ typename kernel::memory shared;
    kernel k(p);
    typename kernel::sums total;
    kernel::sums::start(p);
    const Index tiles = k.tiles();
    k.fill_weights(shared);
    auto fill = [&](Index tile, int buffer) {
      if (tile < tiles) {
        k.enter(tile);
        k.fill_source(shared.work.source[buffer]);
      }
      copy_commit();
    };
    fill(blockIdx.x, 0);
    int buffer = 0;
    for (Index tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      if constexpr (ahead)
        fill(tile + gridDim.x, 1 - buffer);
      copy_wait<ahead ? 1 : 0>();
      __syncthreads(); // the source has arrived for all
      k.enter(tile);
      typename kernel::product sum;
      sum.clear();
      k.accumulate(sum, shared.work.source[buffer], shared);
      if constexpr (!ahead)
        __syncthreads(); // all have left the source, where the result goes
      sum.each([&](int m, int n, float v0, float v1) {
        const float v[2] = {v0, v1};
        store<2>(shared.work.tile.at(m, n), v);
      });
      __syncthreads();
      k.write(k, shared.work.tile, total);
      __syncthreads(); // the result has been read, and all have left the source
      if constexpr (ahead)
        buffer = 1 - buffer;
      else
        fill(tile + gridDim.x, 0);
    }
    copy_wait<0>();
    if constexpr (kernel::sums::wanted)
      k.write_sums(shared.partial, total);
  }
}

} // namespace reprise

// Weight gradient of a 3x3 convolution in 16 bits, first pass: all taps from one
// tile of the source.
//
// Tiling: a block makes BM x BN weights of all nine taps. It goes over tiles of
// Height x 16 pixels of dY; the source that they meet, with the halo around it,
// lies in shared memory once for all taps, and the next tiles are on their way
// during the arithmetic. Warps share the weights as long as 16 x 16 are left for
// each, then the pixels; shares of pixels are added in order at the end. At
// stride 2 the even columns of the source lie before the odd ones, so that
// neighbours in a row of dY meet neighbours in shared memory.
// Grid: (shares of the tiles, channel tiles). Block: Threads. Shared memory is
// dynamic; Shared is what a launch asks for. The same launch suits the kernel of
// weight_gradient.cuh with nine taps, which other precisions take.
#pragma once
#include "weight_gradient_ring.cuh"

namespace reprise {

template <class T, class Index, class S, int Threads, int Height, int Stages>
struct weight_gradient_halo_kernel {
  static constexpr int taps = 9, width = 16, stride = S::Stride, threads = Threads, stages = Stages;
  static_assert(S::Kernel == 3 && S::Groups == 1 && stride <= 2 && S::BM % 16 == 0 && S::BN % 16 == 0, "no layer for this kernel");
  static constexpr int warps_n = S::BN / 16, warps_m = smaller(S::BM / 16, 4 / warps_n), shares = threads / 32 / warps_n / warps_m;
  static constexpr int rows = S::BM / warps_m / 16;
  static constexpr int tiles_n = (S::CI + S::BN - 1) / S::BN;
  static constexpr int share_rows = Height / shares; // of a tile, neighbours because they meet the same source
  static_assert(Height % shares == 0, "no tile for this layer");

  // The source of a tile: `edge` columns beside those that lie under pixels of dY.
  static constexpr int source_rows = (Height - 1) * stride + 3, columns = (width - 1) * stride + 3, edge = 3 - stride;
  using source_tile = tile<T, source_rows * columns, S::BN>;
  using dy_tile = tile<T, Height * width, S::BM>;
  struct stage {
    source_tile x;
    dy_tile dy;
  };
  static constexpr int held = taps * rows * 2 * 4; // sums of a thread
  union memory {
    stage ring[stages];
    float sums[shared_sums<threads, shares, held>];
  };
  static constexpr int dy_pixel = dy_tile::stride * int(sizeof(T)), x_pixel = source_tile::stride * int(sizeof(T)); // bytes

  using share_dy = row_share<T, threads, Height, width, S::BM>;
  using share_x = row_share<T, threads, source_rows, stride * width, S::BN>;

  const reprise_weight_gradient_arguments &p;
  const int first_output, first_input, lane, warp_m, warp_n, share;
  tile_walk<Height, width> walk;
  const uint32_t ring;
  uint32_t to_dy, to_x, from_dy, from_x; // where this thread writes, and reads matrices, in the first stage
  float sum[taps][rows][2][4];

  __device__ __forceinline__ explicit weight_gradient_halo_kernel(const reprise_weight_gradient_arguments &p, stage &first)
      : p(p), first_output(blockIdx.y / tiles_n * S::BM), first_input(blockIdx.y % tiles_n * S::BN), lane(threadIdx.x % 32), warp_m(threadIdx.x / 32 % warps_m), warp_n(threadIdx.x / 32 / warps_m % warps_n), share(threadIdx.x / 32 / (warps_m * warps_n)), walk(p), ring(shared_address(&first)), sum{} {
    to_dy = shared_address(first.dy.at(share_dy::row() * width + share_dy::column(), share_dy::channel()));
    to_x = shared_address(first.x.at(share_x::row() * columns + place(1 + share_x::column()), share_x::channel()));
    from_dy = shared_address(first.dy.at(share * share_rows * width + lane % 8 + lane / 16 * 8, warp_m * rows * 16 + lane / 8 % 2 * 8));
    from_x = shared_address(first.x.at(share * share_rows * stride * columns + lane % 16, warp_n * 16 + lane / 16 * 8));
  }

  // Where a column of the source lies in its row of the tile.
  static __device__ __forceinline__ constexpr int place(int column) { return stride == 1 ? column : column % 2 * (width + 1) + column / 2; }

  __device__ __forceinline__ int steps() const { return walk.count(p.batch); }

  // The place of a channel of a pixel, whose row may not exist.
  static __device__ __forceinline__ const T *place_of(const reprise_map &map, Index n, int y, int x, int channel) {
    return pointer<const T>(map.data) + n * Index(map.image) + signed_index<Index>(Index(y) * Index(map.row) + Index(x) * Index(map.column) + Index(channel));
  }

  // Brings the next tile.
  __device__ __forceinline__ void fill(uint32_t at) {
    const Index n = Index(walk.n);
    const int y = walk.y * Height, x = walk.x * width;
    const int output = first_output + share_dy::channel(), input = first_input + share_x::channel();
    const int dy_x = x + share_dy::column(), x_x = x * stride + share_x::column();
    const T *dy = place_of(p.dy, n, y + share_dy::row(), dy_x, output), *source = place_of(p.x, n, y * stride - 1 + share_x::row(), x_x, input);
    share_dy::template bring<width * dy_pixel>(to_dy + at, dy, int64_t(share_dy::together) * p.dy.row, y + share_dy::row(), p.output_height, dy_x < p.output_width ? chunk_bytes<T, S::CO>(output) : 0);
    share_x::template bring<columns * x_pixel>(to_x + at, source, int64_t(share_x::together) * p.x.row, y * stride - 1 + share_x::row(), p.input_height, x_x < p.input_width ? chunk_bytes<T, S::CI>(input) : 0);
    fill_edge(at, n, y * stride - 1, x * stride - 1);
    walk.advance();
  }

  // The first column of the source, at stride 1 the last as well.
  __device__ __forceinline__ void fill_edge(uint32_t at, Index n, int y, int x) const {
    constexpr int chunks = share_x::chunks;
    static_assert(source_rows * edge * chunks <= threads, "an edge of several copies a thread");
    if (threadIdx.x >= source_rows * edge * chunks)
      return;
    const int row = threadIdx.x / (edge * chunks), column = threadIdx.x / chunks % edge * (columns - 1), channel = share_x::channel();
    const bool exists = uint32_t(y + row) < uint32_t(p.input_height) && uint32_t(x + column) < uint32_t(p.input_width);
    const Index offset = exists ? Index(y + row) * Index(p.x.row) + Index(x + column) * Index(p.x.column) + Index(first_input + channel) : 0;
    copy_async_16(ring + at + (row * columns + place(column)) * x_pixel + channel * int(sizeof(T)), pointer<const T>(p.x.data) + n * Index(p.x.image) + offset, exists ? chunk_bytes<T, S::CI>(first_input + channel) : 0);
  }

  // A row of the tile is one step of the inner dimension.
  __device__ __forceinline__ void accumulate(uint32_t at) {
#pragma unroll
    for (int r = 0; r < share_rows; r++) {
      uint32_t a[rows][4];
#pragma unroll
      for (int i = 0; i < rows; i++)
        load_matrix_4_transposed(a[i], from_dy + at + r * width * dy_pixel + i * 16 * int(sizeof(T)));
#pragma unroll
      for (int t = 0; t < taps; t++) {
        uint32_t b[4];
        load_matrix_4_transposed(b, from_x + at + ((r * stride + t / 3) * columns + place(t % 3)) * x_pixel);
        const uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
#pragma unroll
        for (int i = 0; i < rows; i++) {
          multiply_16(sum[t][i][0], a[i], left, static_cast<const T *>(nullptr));
          multiply_16(sum[t][i][1], a[i], right, static_cast<const T *>(nullptr));
        }
      }
    }
  }

  // Partial sums lie as [share][tap][Cout][Cin].
  __device__ __forceinline__ void write() const {
    float *to = pointer<float>(p.partial) + int64_t(blockIdx.x) * taps * S::CO * S::CI;
#pragma unroll
    for (int t = 0; t < taps; t++)
#pragma unroll
      for (int i = 0; i < rows; i++)
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
          for (int j = 0; j < 2; j++) {
            const int output = first_output + (warp_m * rows + i) * 16 + lane / 4 + h * 8, input = first_input + warp_n * 16 + j * 8 + lane % 4 * 2;
            if (output < S::CO)
              store_two<S::CI % 2 == 0, false>(to + (t * S::CO + output) * S::CI + input, 1, S::CI - input, sum[t][i][j][2 * h], sum[t][i][j][2 * h + 1]);
          }
  }
};

template <class T, bool Tf32, class Index, class S, int Threads, int Height, int Stages, int Shared>
__device__ __forceinline__ void weight_gradient_halo(const reprise_weight_gradient_arguments &p) {
  if constexpr (sizeof(T) != 2) {
    using wide = convolution_shape<S::CI, S::CO, 3, S::Stride, 1, 64, S::BN>;
    weight_gradient_partial<T, Tf32, Index, wide, 9, false, true, true, Threads>(p);
  } else {
    using kernel = weight_gradient_halo_kernel<T, Index, S, Threads, Height, Stages>;
    static_assert(sizeof(typename kernel::memory) == Shared, "not the memory of this kernel");
    sum_pixels<kernel>(p, dynamic_memory<typename kernel::memory>());
  }
}

} // namespace reprise

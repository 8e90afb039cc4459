// Weight gradient of a 3x3 convolution in 16 bits, first pass: all taps from one
// tile of the source.
//
// Tiling: a block makes BM x BN weights of all nine taps. It goes over tiles of
// pixels of dY, 16 wide; the source that they meet, with the halo around it,
// lies in shared memory once for all taps, and the next tiles are on their way
// during the arithmetic. Warps share the weights as long as 16 x 16 are left for
// each, then the pixels; shares of pixels are added in order at the end. At
// stride 2 the even columns of the source lie before the odd ones, so that
// neighbours in a row of dY meet neighbours in shared memory.
// Grid: (shares of the tiles, channel tiles). Block: 128 threads. The same launch
// suits the kernel of weight_gradient.cuh with nine taps, which other precisions
// take.
#pragma once
#include "weight_gradient_ring.cuh"

namespace reprise {

template <class T, class Index, class S>
struct weight_gradient_halo_kernel {
  static constexpr int taps = 9, tile_width = 16, stride = S::Stride;
  static_assert(S::Kernel == 3 && S::Groups == 1 && stride <= 2 && S::BM % 16 == 0 && S::BN % 16 == 0, "no layer for this kernel");
  static constexpr int warps_n = S::BN / 16, warps_m = smaller(S::BM / 16, 4 / warps_n), shares = 4 / warps_n / warps_m;
  static constexpr int rows = S::BM / warps_m / 16;
  static constexpr int tiles_n = (S::CI + S::BN - 1) / S::BN;

  static constexpr int columns = (tile_width - 1) * stride + 3;
  static constexpr int source_rows(int height) { return (height - 1) * stride + 3; }
  static constexpr int stage_bytes(int height) {
    return int(sizeof(T)) * (source_rows(height) * columns * (S::BN + chunk<T>)+height * tile_width * (S::BM + chunk<T>));
  }
  static constexpr int tile_height = 2 * stage_bytes(8) <= ring_bytes ? 8 : 2 * stage_bytes(4) <= ring_bytes ? 4
                                                                                                             : 2;
  static_assert(2 * stage_bytes(tile_height) <= ring_bytes && tile_height % shares == 0, "no tile for this layer");
  static constexpr int stages = smaller(ring_bytes / stage_bytes(tile_height), 4);

  static constexpr int pixels = source_rows(tile_height) * columns; // of the source

  struct stage {
    tile<T, pixels, S::BN> x;
    tile<T, tile_height * tile_width, S::BM> dy;
  };
  static constexpr int held = taps * rows * 2 * 4; // sums of a thread
  union memory {
    stage ring[stages];
    float sums[shares > 1 ? (shares - 1) * held *(tile_threads / shares) : 1];
  };

  const reprise_weight_gradient_arguments &p;
  const int first_output, first_input, lane, warp_m, warp_n, share;
  const Index across, down;
  float sum[taps][rows][2][4];

  __device__ __forceinline__ explicit weight_gradient_halo_kernel(const reprise_weight_gradient_arguments &p)
      : p(p), first_output(blockIdx.y / tiles_n * S::BM), first_input(blockIdx.y % tiles_n * S::BN), lane(threadIdx.x % 32), warp_m(threadIdx.x / 32 % warps_m), warp_n(threadIdx.x / 32 / warps_m % warps_n), share(threadIdx.x / 32 / (warps_m * warps_n)), across(ceiling(p.output_width, tile_width)), down(ceiling(p.output_height, tile_height)), sum{} {}

  __device__ __forceinline__ Index first() const { return blockIdx.x; }
  __device__ __forceinline__ Index step() const { return gridDim.x; }
  __device__ __forceinline__ Index end() const { return Index(p.batch) * down * across; }

  // Where a column of the source lies in its row of the tile.
  static __device__ __forceinline__ constexpr int place(int column) { return stride == 1 ? column : column % 2 * (tile_width + 1) + column / 2; }

  __device__ __forceinline__ void fill(stage &to, Index tile) const {
    const int x = int(tile % across) * tile_width, y = int(tile / across % down) * tile_height;
    const Index n = tile / across / down;
    fill_pixels<tile_height, tile_width, S::BM>(to.dy, p, n, y, x, S::CO, first_output);
    fill_x(to, n, y * stride - 1, x * stride - 1);
  }

  __device__ __forceinline__ void fill_x(stage &to, Index n, int y, int x) const {
    constexpr int chunks = S::BN / chunk<T>;
    const int channel = threadIdx.x % chunks * chunk<T>, valid = smaller(S::CI - first_input - channel, chunk<T>);
    const T *from = pointer<const T>(p.x.data) + (n * Index(p.x.image) + Index(first_input + channel));
    for (int i = threadIdx.x / chunks; i < pixels; i += tile_threads / chunks) {
      const int row = i / columns, column = i % columns, py = y + row, px = x + column;
      const bool exists = valid > 0 && py >= 0 && py < p.input_height && px >= 0 && px < p.input_width;
      bring<true>(to.x.at(row * columns + place(column), channel), from + (exists ? Index(py) * Index(p.x.row) + Index(px) * Index(p.x.column) : 0), exists ? valid : 0, 1);
    }
  }

  // A row of the tile is one step of the inner dimension.
  __device__ __forceinline__ void accumulate(stage &from) {
    const int low = lane % 8 + lane / 16 * 8, side = lane / 8 % 2 * 8;
    const uint32_t dy = shared_address(from.dy.at(low, warp_m * rows * 16 + side)), x = shared_address(from.x.at(lane % 16, warp_n * 16 + lane / 16 * 8));
    constexpr int dy_stride = decltype(from.dy)::stride * int(sizeof(T)), x_stride = decltype(from.x)::stride * int(sizeof(T));
#pragma unroll
    for (int r = 0; r < tile_height / shares; r++) {
      const int row = r * shares + share;
      uint32_t a[rows][4];
#pragma unroll
      for (int i = 0; i < rows; i++)
        load_matrix_4_transposed(a[i], dy + row * tile_width * dy_stride + i * 16 * int(sizeof(T)));
#pragma unroll
      for (int t = 0; t < taps; t++) {
        uint32_t b[4];
        load_matrix_4_transposed(b, x + ((row * stride + t / 3) * columns + place(t % 3)) * x_stride);
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

template <class T, bool Tf32, class Index, class S>
__device__ __forceinline__ void weight_gradient_halo(const reprise_weight_gradient_arguments &p) {
  if constexpr (sizeof(T) != 2) {
    using wide = convolution_shape<S::CI, S::CO, 3, S::Stride, 1, 64, S::BN>;
    weight_gradient_partial<T, Tf32, Index, wide, 9, false, true, true>(p);
  } else {
    sum_pixels<weight_gradient_halo_kernel<T, Index, S>, Index>(p);
  }
}

} // namespace reprise

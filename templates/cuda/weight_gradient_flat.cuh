// Weight gradient of a 1x1 convolution of stride 1 in 16 bits, first pass: one
// matrix product over pixels that lie one after the other in memory.
//
// Tiling: a block makes BM x BN weights from its span of pixels, through a ring
// of stages of `depth` pixels. Sides are as long as registers allow, so that dY
// and X are read few times. Warps lie 2 x 2 over sides from 64 on; on shorter
// sides they share the pixels instead, and their shares are added in order.
// Grid: (spans, channel tiles). Block: 128 threads. The same launch suits the
// kernel of weight_gradient.cuh, which other precisions take.
#pragma once
#include "weight_gradient_ring.cuh"

namespace reprise {

template <class T, class Index, class S>
struct weight_gradient_flat_kernel {
  static_assert(S::Kernel == 1 && S::Stride == 1 && S::Groups == 1, "no layer for this kernel");
  static constexpr int warps_m = S::BM >= 64 ? 2 : 1, warps_n = S::BN >= 64 ? 2 : 1, shares = 4 / warps_n / warps_m;
  static constexpr int rows = S::BM / warps_m / 16, pairs = S::BN / warps_n / 16;
  static_assert(rows * warps_m * 16 == S::BM && pairs * warps_n * 16 == S::BN, "no tile for this layer");
  static constexpr int tiles_n = (S::CI + S::BN - 1) / S::BN;
  static constexpr int depth = S::BM + S::BN <= 64 ? 128 : S::BM + S::BN <= 128 ? 64
                                                                                : 32;
  struct stage {
    tile<T, depth, S::BM> dy;
    tile<T, depth, S::BN> x;
  };
  static constexpr int stages = smaller(ring_bytes / int(sizeof(stage)), 4);
  static_assert(stages >= 2 && depth % (16 * shares) == 0, "no ring for this tile");
  static constexpr int held = rows * pairs * 8; // sums of a thread
  union memory {
    stage ring[stages];
    float sums[shared_sums<shares, held>];
  };

  const reprise_weight_gradient_arguments &p;
  const int first_output, first_input, lane, warp_m, warp_n, share;
  float sum[rows][2 * pairs][4];

  __device__ __forceinline__ explicit weight_gradient_flat_kernel(const reprise_weight_gradient_arguments &p)
      : p(p), first_output(blockIdx.y / tiles_n * S::BM), first_input(blockIdx.y % tiles_n * S::BN), lane(threadIdx.x % 32), warp_m(threadIdx.x / 32 % warps_m), warp_n(threadIdx.x / 32 / warps_m % warps_n), share(threadIdx.x / 32 / (warps_m * warps_n)), sum{} {}

  __device__ __forceinline__ Index first() const { return Index(blockIdx.x) * Index(p.span); }
  __device__ __forceinline__ Index step() const { return depth; }
  __device__ __forceinline__ Index end() const { return smaller(first() + Index(p.span), Index(p.batch) * Index(p.output_height) * Index(p.output_width)); }

  // Brings the channels of one side of the tile for depth pixels from `first` on.
  template <int Side>
  __device__ __forceinline__ void fill_side(tile<T, depth, Side> &to, const reprise_map &map, int channels, int first_channel, Index first, Index end) const {
    constexpr int chunks = Side / chunk<T>;
#pragma unroll
    for (int i = 0; i < ceiling(depth * chunks, tile_threads); i++) {
      const int c = threadIdx.x + i * tile_threads, row = c / chunks, channel = first_channel + c % chunks * chunk<T>;
      if (depth * chunks % tile_threads != 0 && c >= depth * chunks)
        break;
      const Index pixel = first + row;
      const int valid = pixel < end ? smaller(channels - channel, chunk<T>) : 0;
      bring<true>(to.at(row, c % chunks * chunk<T>), pointer<const T>(map.data) + (valid > 0 ? pixel * Index(map.column) + Index(channel) : 0), valid > 0 ? valid : 0, 1);
    }
  }

  __device__ __forceinline__ void fill(stage &to, Index first) const {
    fill_side<S::BM>(to.dy, p.dy, S::CO, first_output, first, end());
    fill_side<S::BN>(to.x, p.x, S::CI, first_input, first, end());
  }

  __device__ __forceinline__ void accumulate(stage &from) {
    const int low = lane % 8 + lane / 16 * 8, side = lane / 8 % 2 * 8;
    const uint32_t dy = shared_address(from.dy.at(share * 16 + low, warp_m * rows * 16 + side)), x = shared_address(from.x.at(share * 16 + lane % 16, warp_n * pairs * 16 + lane / 16 * 8));
    constexpr int dy_step = 16 * shares * decltype(from.dy)::stride * int(sizeof(T)), x_step = 16 * shares * decltype(from.x)::stride * int(sizeof(T));
#pragma unroll
    for (int k = 0; k < depth / 16 / shares; k++) {
      uint32_t a[rows][4];
#pragma unroll
      for (int i = 0; i < rows; i++)
        load_matrix_4_transposed(a[i], dy + k * dy_step + i * 16 * int(sizeof(T)));
#pragma unroll
      for (int j = 0; j < pairs; j++) {
        uint32_t b[4];
        load_matrix_4_transposed(b, x + k * x_step + j * 16 * int(sizeof(T)));
        const uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
#pragma unroll
        for (int i = 0; i < rows; i++) {
          multiply_16(sum[i][2 * j], a[i], left, static_cast<const T *>(nullptr));
          multiply_16(sum[i][2 * j + 1], a[i], right, static_cast<const T *>(nullptr));
        }
      }
    }
  }

  // Partial sums lie as [span][Cout][Cin].
  __device__ __forceinline__ void write() const {
    float *to = pointer<float>(p.partial) + int64_t(blockIdx.x) * S::CO * S::CI;
#pragma unroll
    for (int i = 0; i < rows; i++)
#pragma unroll
      for (int h = 0; h < 2; h++)
#pragma unroll
        for (int j = 0; j < 2 * pairs; j++) {
          const int output = first_output + (warp_m * rows + i) * 16 + lane / 4 + h * 8, input = first_input + (warp_n * pairs * 2 + j) * 8 + lane % 4 * 2;
          if (output < S::CO)
            store_two<S::CI % 2 == 0, false>(to + output * S::CI + input, 1, S::CI - input, sum[i][j][2 * h], sum[i][j][2 * h + 1]);
        }
  }
};

template <class T, bool Tf32, class Index, class S>
__device__ __forceinline__ void weight_gradient_flat(const reprise_weight_gradient_arguments &p) {
  if constexpr (sizeof(T) != 2) {
    // Copies of that kernel go by rows of a power of two.
    using wide = convolution_shape<S::CI, S::CO, 1, 1, 1, S::BM <= 64 ? 64 : 128, S::BN <= 32 ? S::BN : 64>;
    static_assert((S::CI - 1) / S::BN == (S::CI - 1) / wide::BN, "the launch has the tiles of another kernel");
    weight_gradient_partial<T, Tf32, Index, wide, 1, false, true, true>(p);
  } else {
    sum_pixels<weight_gradient_flat_kernel<T, Index, S>, Index>(p);
  }
}

} // namespace reprise

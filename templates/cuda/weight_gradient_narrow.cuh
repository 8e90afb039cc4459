// Weight gradient of a layer with few input channels in 16 bits, first pass: the
// first layer of a network.
//
// The pixels of X lie without gaps, so that a row of the source is copied whole,
// 16 bytes at a time, whatever its channels. A block makes BM x BN weights, in
// the order of the parameter, over tiles of pixels of dY, 16 wide; the next tiles
// are on their way during the arithmetic. Both values of an operand of the tensor
// cores are read from the rows where they lie: gathering them first would write
// each element as often as taps use it. Warps share the pixels, and their shares
// are added in order.
// Grid: (shares of the tiles, channel tiles). Block: 128 threads. The same launch
// suits the kernel of weight_gradient.cuh, which other precisions take.
#pragma once
#include "weight_gradient_ring.cuh"

namespace reprise {

template <class T, class Index, class S>
struct weight_gradient_narrow_kernel {
  static_assert(S::Groups == 1 && S::BM % 16 == 0 && S::BN % 16 == 0, "no layer for this kernel");
  static constexpr int weights = S::CI * S::Kernel * S::Kernel, tiles_n = (weights + S::BN - 1) / S::BN;
  static constexpr int rows = S::BM / 16, columns = S::BN / 8, shares = 4, threads = tile_threads;
  static constexpr int tile_height = 8, tile_width = 16, pixel_step = S::Stride * S::CI;
  // A row of the source: `head` elements, of which the last belong to the padding
  // on the left, then those from the tile's first pixel on.
  static constexpr int head = (S::Padding * S::CI + 7) / 8 * 8;
  static constexpr int pitch = (head + ((tile_width - 1) * S::Stride + S::Kernel - S::Padding) * S::CI + 7) / 8 * 8;
  static constexpr int source_rows = (tile_height - 1) * S::Stride + S::Kernel;
  using dy_tile = tile<T, tile_height * tile_width, S::BM>;
  struct alignas(16) stage {
    T x[source_rows * pitch];
    dy_tile dy;
  };
  static constexpr int stages = smaller(ring_bytes / int(sizeof(stage)), 4);
  static_assert(stages >= 2 && chunk<T> == 8, "no ring for this layer");
  union memory {
    stage ring[stages];
    float sums[shared_sums<threads, shares, rows * columns * 4>];
  };

  const reprise_weight_gradient_arguments &p;
  const int first_output, first_weight, lane, share;
  tile_walk<tile_height, tile_width> walk;
  char *const ring;
  int offset[columns]; // of this lane's weight in each block of 8, in a stage of X
  float sum[rows][columns][4];

  __device__ __forceinline__ explicit weight_gradient_narrow_kernel(const reprise_weight_gradient_arguments &p, stage &first)
      : p(p), first_output(blockIdx.y / tiles_n * S::BM), first_weight(blockIdx.y % tiles_n * S::BN), lane(threadIdx.x % 32), share(threadIdx.x / 32), walk(p), ring(reinterpret_cast<char *>(&first)), sum{} {
#pragma unroll
    for (int j = 0; j < columns; j++) {
      const int weight = smaller(first_weight + j * 8 + lane / 4, weights - 1), tap = weight % (S::Kernel * S::Kernel);
      offset[j] = tap / S::Kernel * pitch + head + (tap % S::Kernel - S::Padding) * S::CI + weight / (S::Kernel * S::Kernel) + lane % 4 * 2 * pixel_step;
    }
  }

  __device__ __forceinline__ int steps() const { return walk.count(p.batch); }
  __device__ __forceinline__ stage &stage_at(uint32_t at) const { return *reinterpret_cast<stage *>(ring + at); }

  // Brings the next tile.
  __device__ __forceinline__ void fill(uint32_t at) {
    stage &to = stage_at(at);
    const int x = walk.x * tile_width, y = walk.y * tile_height;
    const Index n = Index(walk.n);
    walk.advance();
    fill_dy(to.dy, n, y, x);
    constexpr int chunks = pitch / chunk<T>;
    const T *from = pointer<const T>(p.x.data) + n * Index(p.x.image);
#pragma unroll
    for (int i = 0; i < ceiling(source_rows * chunks, tile_threads); i++) {
      const int c = threadIdx.x + i * tile_threads, row = c / chunks, column = c % chunks * chunk<T>;
      if (source_rows * chunks % tile_threads != 0 && c >= source_rows * chunks)
        break;
      const int py = y * S::Stride - S::Padding + row, element = x * pixel_step - head + column;
      const int valid = py >= 0 && py < p.input_height && element >= 0 ? smaller(p.input_width * S::CI - element, chunk<T>) : 0;
      bring<true>(to.x + row * pitch + column, from + (valid > 0 ? Index(py) * Index(p.x.row) + Index(element) : 0), valid > 0 ? valid : 0, 1);
    }
  }

  __device__ __forceinline__ void fill_dy(dy_tile &to, Index n, int y, int x) const {
    using share_dy = row_share<T, threads, tile_height, tile_width, S::BM>;
    constexpr int pitch = tile_width * dy_tile::stride * int(sizeof(T));
    const int row = share_dy::row(), column = share_dy::column(), output = first_output + share_dy::channel();
    const T *from = pointer<const T>(p.dy.data) + n * Index(p.dy.image) + Index(y + row) * Index(p.dy.row) + Index(x + column) * Index(p.dy.column) + Index(output);
    share_dy::template bring<pitch>(shared_address(to.at(row * tile_width + column, share_dy::channel())), from, int64_t(share_dy::together) * p.dy.row, y + row, p.output_height, x + column < p.output_width ? chunk_bytes<T, S::CO>(output) : 0);
  }

  // Two neighbouring pixels of one weight, as an operand holds them.
  static __device__ __forceinline__ uint32_t pair(const T *at) { return uint32_t(at[0].bits) | uint32_t(at[pixel_step].bits) << 16; }

  // A row of the tile is one step of the inner dimension.
  __device__ __forceinline__ void accumulate(uint32_t at) {
    stage &from = stage_at(at);
    const uint32_t dy = shared_address(from.dy.at(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8));
    constexpr int dy_stride = decltype(from.dy)::stride * int(sizeof(T));
#pragma unroll
    for (int r = 0; r < tile_height / shares; r++) {
      const int row = r * shares + share;
      const T *source = from.x + row * S::Stride * pitch;
      uint32_t a[rows][4];
#pragma unroll
      for (int i = 0; i < rows; i++)
        load_matrix_4_transposed(a[i], dy + row * tile_width * dy_stride + i * 16 * int(sizeof(T)));
#pragma unroll
      for (int j = 0; j < columns; j++) {
        const uint32_t b[2] = {pair(source + offset[j]), pair(source + offset[j] + 8 * pixel_step)};
#pragma unroll
        for (int i = 0; i < rows; i++)
          multiply_16(sum[i][j], a[i], b, static_cast<const T *>(nullptr));
      }
    }
  }

  // Partial sums lie as [share][Cout][weight].
  __device__ __forceinline__ void write() const {
    float *to = pointer<float>(p.partial) + int64_t(blockIdx.x) * S::CO * weights;
#pragma unroll
    for (int i = 0; i < rows; i++)
#pragma unroll
      for (int h = 0; h < 2; h++)
#pragma unroll
        for (int j = 0; j < columns; j++) {
          const int output = first_output + i * 16 + lane / 4 + h * 8, weight = first_weight + j * 8 + lane % 4 * 2;
          if (output < S::CO)
            store_two<weights % 2 == 0, false>(to + output * weights + weight, 1, weights - weight, sum[i][j][2 * h], sum[i][j][2 * h + 1]);
        }
  }
};

template <class T, bool Tf32, class Index, class S>
__device__ __forceinline__ void weight_gradient_narrow(const reprise_weight_gradient_arguments &p) {
  if constexpr (sizeof(T) != 2) {
    using wide = convolution_shape<S::CI, S::CO, S::Kernel, S::Stride, 1, 64, S::BN>;
    weight_gradient_partial<T, Tf32, Index, wide, 1, true, true, true>(p);
  } else {
    using kernel = weight_gradient_narrow_kernel<T, Index, S>;
    __shared__ typename kernel::memory shared;
    sum_pixels<kernel>(p, shared);
  }
}

} // namespace reprise

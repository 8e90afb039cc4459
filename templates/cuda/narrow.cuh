// 3x3 convolution of stride 2 from very few channels, the first layer of a
// network, in 16 bits.
//
// The source lies pixel by pixel without gaps, so what a pixel of the result
// meets in one row of the source is one run of 3 * CI neighbouring elements. With
// one more in front where CI is odd, every run begins at a word. The inner
// dimension of the product is the runs of the three rows, one after the other;
// tensor cores get their operands word by word out of a tile of whole rows.
//
// Tiling: 64 x Rows pixels of the result at a time. The next tile is on its way
// during the arithmetic.
// Grid: (tiles or fewer, channels/BN, 1). Block: 128 threads.
#pragma once
#include "convolution.cuh"
#include "neighbours.cuh"

namespace reprise {

// Rows of the source in shared memory, as 16-byte pieces of memory. lead: what
// lies before the first pixel of the tile, with the run's beginning in it.
template <class T, class Index, int CI, int Rows>
struct narrow_source {
  static constexpr int tile_width = 64, lead = chunk<T>, odd = CI % 2, run = 3 * CI + odd;
  static constexpr int rows = 2 * Rows + 1, stride = lead + tile_width * 2 * CI, chunks = stride / chunk<T>;
  static_assert(CI + odd <= lead && stride % chunk<T> == 0, "no layer for this kernel");
  struct alignas(16) tile {
    T element[rows * stride];
  };

  // Starts the copies of a tile whose first pixel is n, y, x of the result.
  static __device__ __forceinline__ void fill(tile &to, const reprise_map &map, Index n, int y, int x, int height, int width) {
    const T *image = pointer<const T>(map.data) + n * Index(map.image);
    for (int c = threadIdx.x; c < rows * chunks; c += tile_threads) {
      const int row = c / chunks, sy = 2 * y - 1 + row, first = x * 2 * CI - lead + c % chunks * chunk<T>;
      const int valid = sy >= 0 && sy < height && first >= 0 ? smaller(width * CI - first, chunk<T>) : 0;
      bring<true>(to.element + c * chunk<T>, image + (valid > 0 ? Index(sy) * Index(map.row) + Index(first) : 0), valid > 0 ? valid : 0, 1);
    }
  }

  // Where pixel x of row y of the result has its runs.
  static __device__ __forceinline__ int pixel(int y, int x) { return 2 * y * stride + lead - CI - odd + x * 2 * CI; }

  // Place k of the inner dimension, from there.
  static __device__ __forceinline__ bool exists(int k) { return k < 3 * run && k % run >= odd; }
  static __device__ __forceinline__ int place(int k) { return k < 3 * run ? k / run * stride + k % run : 0; }
  // Its weight, as the parameter has it: [CI][3][3].
  static __device__ __forceinline__ int weight(int k) {
    const int j = k % run - odd;
    return j % CI * 9 + k / run * 3 + j / CI;
  }
};

// Tiles of the result, over the whole batch.
template <class Index, int Rows>
struct narrow_tiles {
  Index across, down, count;

  __device__ __forceinline__ narrow_tiles(int batch, int height, int width)
      : across(ceiling(width, 64)), down(ceiling(height, Rows)), count(Index(batch) * down * across) {}
  __device__ __forceinline__ Index image(Index tile) const { return tile / across / down; }
  __device__ __forceinline__ int y(Index tile) const { return int(tile / across % down) * Rows; }
  __device__ __forceinline__ int x(Index tile) const { return int(tile % across) * 64; }
};

template <class T, class Index, class S, bool HasBias, class Y, class Sums>
struct narrow_kernel {
  static constexpr int rows = 8, columns = S::BN / 8, padded = (S::CI * 9 + 15) / 16 * 16;
  using input = narrow_source<T, Index, S::CI, rows>;
  static constexpr int steps = (3 * input::run + 15) / 16;
  using lanes = neighbour_lanes<columns>;
  static constexpr int groups = lanes::groups, row_lanes = 4 * lanes::pixels;
  using sums = typename Sums::template of<S::CO, 8, Y>;
  using part = typename sums::part;
  union memory {
    typename input::tile source[2];
    part parts[row_lanes * S::BN];
  };

  const reprise_convolution_arguments &p;
  const int first_output;
  uint32_t weight[steps][columns][2];
  int place[steps][2];
  uint32_t mask[steps][2]; // of the words, without what is no part of a run

  __device__ __forceinline__ explicit narrow_kernel(const reprise_convolution_arguments &p) : p(p), first_output(blockIdx.y * S::BN) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int s = 0; s < steps; s++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int k = s * 16 + lane % 4 * 2 + h * 8;
        place[s][h] = input::place(k);
        mask[s][h] = (input::exists(k) ? 0xffffu : 0u) | (input::exists(k + 1) ? 0xffff0000u : 0u);
#pragma unroll
        for (int j = 0; j < columns; j++)
          weight[s][j][h] = weight_at(j * 8 + lane / 4, k) | weight_at(j * 8 + lane / 4, k + 1) << 16;
      }
  }

  __device__ __forceinline__ uint32_t weight_at(int output, int k) const {
    output += first_output;
    return output < S::CO && input::exists(k) ? pointer<const T>(p.weight)[output * padded + input::weight(k)].bits : 0;
  }

  __device__ __forceinline__ int channel() const { return first_output + lanes::channel(); }

  // 16 pixels of a row of the tile.
  __device__ __forceinline__ void accumulate(float (&sum)[columns][4], const typename input::tile &source, int y, int x) const {
    const int lane = threadIdx.x % 32;
    const T *at = source.element + input::pixel(y, x + lane / 4);
#pragma unroll
    for (int j = 0; j < columns; j++)
      sum[j][0] = sum[j][1] = sum[j][2] = sum[j][3] = 0x0p+0f;
#pragma unroll
    for (int s = 0; s < steps; s++) {
      uint32_t a[4];
#pragma unroll
      for (int h = 0; h < 4; h++)
        a[h] = *reinterpret_cast<const uint32_t *>(at + place[s][h / 2] + h % 2 * 8 * 2 * S::CI) & mask[s][h / 2];
#pragma unroll
      for (int j = 0; j < columns; j++)
        multiply_16(sum[j], a, weight[s][j], static_cast<const T *>(nullptr));
    }
  }

  __device__ __forceinline__ void write(const typename input::tile &source, Index n, int first_y, int first_x, const float (&bias)[8], sums &total) const {
    const typename sums::coefficients coefficients(p, 0);
    for (int i = threadIdx.x / 32; i < rows * 4; i += tile_threads / 32) {
      float sum[columns][4];
      accumulate(sum, source, i / 4, i % 4 * 16);
#pragma unroll
      for (int g = 0; g < groups; g++) {
        const int y = first_y + i / 4, x = first_x + i % 4 * 16 + lanes::pixel() + g * 8;
        const group<Y, 8> to = neighbours_of<Y, HasBias>(sum, g, bias);
        if (y >= p.output_height || x >= p.output_width || channel() >= S::CO)
          continue;
        *reinterpret_cast<group<Y, 8> *>(pointer<Y>(p.output.data) + pixel_offset(p.output, n, Index(y), Index(x)) + Index(channel())) = to;
        float v[8];
        widen<8>(v, to);
        total.take(v, {}, coefficients);
      }
    }
  }

  __device__ __forceinline__ void write_sums(part *parts, const sums &total) const {
    __syncthreads();
    const int row = int(threadIdx.x / 32) * lanes::pixels + lanes::row();
#pragma unroll
    for (int i = 0; i < 8; i++)
      parts[row * S::BN + lanes::channel() + i] = total.result(i);
    __syncthreads();
    const int output = first_output + int(threadIdx.x);
    if (threadIdx.x < S::BN && output < S::CO)
      pointer<part>(p.partial)[int64_t(blockIdx.x) * S::CO + output] = merge_column<row_lanes, S::BN>(parts + threadIdx.x);
  }

  __device__ __forceinline__ void run(memory &shared) {
    const narrow_tiles<Index, rows> tiles(p.batch, p.output_height, p.output_width);
    sums total;
    sums::start(p);
    const auto fill = [&](Index tile, int buffer) {
      if (tile < tiles.count)
        input::fill(shared.source[buffer], p.input, tiles.image(tile), tiles.y(tile), tiles.x(tile), p.input_height, p.input_width);
      copy_commit();
    };
    float bias[8] = {};
    if constexpr (HasBias)
#pragma unroll
      for (int i = 0; i < 8; i++)
        bias[i] = channel() + i < S::CO ? pointer<const float>(p.bias)[channel() + i] : 0x0p+0f;
    fill(blockIdx.x, 0);
    int buffer = 0;
    for (Index tile = blockIdx.x; tile < tiles.count; tile += gridDim.x, buffer = 1 - buffer) {
      fill(tile + gridDim.x, 1 - buffer);
      copy_wait<1>();
      __syncthreads(); // the source has arrived for all
      write(shared.source[buffer], tiles.image(tile), tiles.y(tile), tiles.x(tile), bias, total);
      __syncthreads(); // all have left the source
    }
    copy_wait<0>();
    if constexpr (sums::wanted)
      write_sums(shared.parts, total);
  }
};

template <class T, bool Tf32, class Index, class S, bool HasBias, class Y, class Sums>
__device__ __forceinline__ void convolution_narrow(const reprise_convolution_arguments &p) {
  if constexpr (sizeof(T) == 2) {
    using kernel = narrow_kernel<T, Index, S, HasBias, Y, Sums>;
    __shared__ typename kernel::memory shared;
    kernel(p).run(shared);
  } else {
    convolution<T, Tf32, Index, S, false, true, false, 8, HasBias, false, Y, Sums>(p);
  }
}

} // namespace reprise

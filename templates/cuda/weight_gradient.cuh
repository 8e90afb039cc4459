// Weight gradient of a convolution as a matrix product on tiles, in two passes.
//
// GEMM view, one for each tap: dW[co][ci] = sum over pixels of dY[pixel][co] *
// X[pixel moved by the tap][ci]. Both operands lie with the pixel, which is the
// inner dimension, outermost, and are transposed on the way to the tensor cores.
//
// Tiling, pass 1: a block makes BM x BN of Taps neighbouring taps for one span
// of pixels; dY is brought once and multiplied with the X of each tap. X stages
// form a ring, dY stages another; copies run ahead of the arithmetic by the
// length of the X ring. A narrow layer has all its weights of an output channel
// in one tap (see convolution.cuh).
// Grid: (spans, channel tiles, groups * tap sets). Block: Threads.
// Pass 2 is in weight_gradient_reduce.cuh.
#pragma once
#include "convolution.cuh"

namespace reprise {

// A pixel of dY that moves on by Step pixels at a time. Coordinates advance by
// carries: divisions would cost as much as the arithmetic of a small layer.
template <class Index, int Step>
struct pixel_walk {
  Index pixel, n;
  int y, x;

  __device__ __forceinline__ void start(Index first, int height, int width) {
    pixel = first;
    const Index rest = first / Index(width);
    x = int(first % Index(width));
    y = int(rest % Index(height));
    n = rest / Index(height);
  }

  // rows and columns are Step as whole rows and what is left.
  __device__ __forceinline__ void advance(int height, int width, int rows, int columns) {
    pixel += Step;
    x += columns;
    y += rows;
    if (x >= width) {
      x -= width;
      y++;
    }
    while (y >= height) {
      y -= height;
      n++;
    }
  }
};

template <class T, bool Tf32, class Index, class S, int Taps, bool Narrow, bool VectorX, bool VectorDY, int Threads>
struct weight_gradient_kernel {
  static constexpr int BK = sizeof(T) == 4 ? 16 : 32;
  static constexpr int kernel_taps = S::Kernel * S::Kernel, all_taps = Narrow ? 1 : kernel_taps;
  static constexpr int inputs = Narrow ? S::CI * kernel_taps : S::CI, tiles_n = (inputs + S::BN - 1) / S::BN;
  using product = tensor_product<T, Tf32, S::BM, S::BN, BK, true, true, Threads>;
  using tile_dy = typename product::tile_a;
  using tile_x = typename product::tile_b;
  // Ring lengths. A dY stage is free when all steps of its slice are done.
  static constexpr int stages_x = Taps == 1 ? smaller(4, ring_bytes / int(sizeof(tile_dy) + sizeof(tile_x))) : Taps <= 3 ? 2 * Taps
                                                                                                                         : Taps + 1,
                       ahead = stages_x - 1;
  static constexpr int stages_dy = (ahead + Taps - 1) / Taps + 1;
  // Chunks in a tile row, and the copies of one thread.
  static constexpr int across_dy = S::BM / chunk<T>, across_x = S::BN / chunk<T>;
  static constexpr int copies_dy = (tile_dy::chunks + Threads - 1) / Threads, copies_x = (tile_x::chunks + Threads - 1) / Threads;

  const reprise_weight_gradient_arguments &p;
  const int group, first_tap, first_output, first_input;
  const int step_rows, step_columns; // BK pixels as rows and columns of dY
  Index begin, end;
  pixel_walk<Index, BK> walk_dy[copies_dy], walk_x[copies_x];

  __device__ __forceinline__ explicit weight_gradient_kernel(const reprise_weight_gradient_arguments &p)
      : p(p), group(blockIdx.z % S::Groups), first_tap(blockIdx.z / S::Groups * Taps), first_output(blockIdx.y / tiles_n * S::BM), first_input(blockIdx.y % tiles_n * S::BN), step_rows(BK / p.output_width), step_columns(BK % p.output_width) {
    const Index pixels = Index(p.batch) * Index(p.output_height) * Index(p.output_width);
    begin = smaller(Index(blockIdx.x) * Index(p.span), pixels);
    end = smaller(begin + Index(p.span), pixels);
#pragma unroll
    for (int i = 0; i < copies_dy; i++)
      walk_dy[i].start(begin + row_dy(i), p.output_height, p.output_width);
#pragma unroll
    for (int i = 0; i < copies_x; i++)
      walk_x[i].start(begin + row_x(i), p.output_height, p.output_width);
  }

  static __device__ __forceinline__ int row_dy(int i) { return threadIdx.x / across_dy + i * (Threads / across_dy); }
  static __device__ __forceinline__ int row_x(int i) { return threadIdx.x / across_x + i * (Threads / across_x); }

  __device__ __forceinline__ int slices() const { return int((end - begin + BK - 1) / BK); }

  // Moves to the next slice of BK pixels.
  __device__ __forceinline__ void advance() {
#pragma unroll
    for (int i = 0; i < copies_dy; i++)
      walk_dy[i].advance(p.output_height, p.output_width, step_rows, step_columns);
#pragma unroll
    for (int i = 0; i < copies_x; i++)
      walk_x[i].advance(p.output_height, p.output_width, step_rows, step_columns);
  }

  __device__ __forceinline__ void fill_dy(tile_dy &to) const {
    const int column = threadIdx.x % across_dy * chunk<T>, output = first_output + column;
#pragma unroll
    for (int i = 0; i < copies_dy; i++) {
      if (tile_dy::chunks % Threads != 0 && row_dy(i) >= BK)
        break;
      const pixel_walk<Index, BK> &at = walk_dy[i];
      const int valid = at.pixel < end ? smaller(S::CO - output, chunk<T>) : 0;
      const Index offset = valid > 0 ? pixel_offset(p.dy, at.n, Index(at.y), Index(at.x)) + Index(group * S::CO + output) * Index(VectorDY ? 1 : p.dy.channel) : 0;
      bring<VectorDY>(to.at(row_dy(i), column), pointer<const T>(p.dy.data) + offset, valid > 0 ? valid : 0, Index(p.dy.channel));
    }
  }

  __device__ __forceinline__ void fill_x(tile_x &to, int tap) const {
    if constexpr (Narrow) {
      const int column = threadIdx.x % across_x * chunk<T>;
      const narrow_chunk<T, Index, S> columns(p.x, group, first_input + column);
#pragma unroll
      for (int i = 0; i < copies_x; i++) {
        const pixel_walk<Index, BK> &at = walk_x[i];
        const source<Index> window = {at.n * Index(p.x.image), at.y * S::Stride - S::Padding, at.x * S::Stride - S::Padding, at.pixel < end};
        if (tile_x::chunks % Threads == 0 || row_x(i) < BK)
          columns.copy(to.at(row_x(i), column), p.x, window, p.input_height, p.input_width);
      }
    } else {
      copy_x(to, tap);
    }
  }

  __device__ __forceinline__ void copy_x(tile_x &to, int tap) const {
    const int ky = tap / S::Kernel, kx = tap % S::Kernel;
    const int column = threadIdx.x % across_x * chunk<T>, input = first_input + column;
#pragma unroll
    for (int i = 0; i < copies_x; i++) {
      if (tile_x::chunks % Threads != 0 && row_x(i) >= BK)
        break;
      const pixel_walk<Index, BK> &at = walk_x[i];
      const int y = at.y * S::Stride - S::Padding + ky, x = at.x * S::Stride - S::Padding + kx;
      const bool inside = at.pixel < end && tap < all_taps && y >= 0 && y < p.input_height && x >= 0 && x < p.input_width;
      const int valid = inside ? smaller(S::CI - input, chunk<T>) : 0;
      const Index offset = valid > 0 ? pixel_offset(p.x, at.n, Index(y), Index(x)) + Index(group * S::CI + input) * Index(VectorX ? 1 : p.x.channel) : 0;
      bring<VectorX>(to.at(row_x(i), column), pointer<const T>(p.x.data) + offset, valid > 0 ? valid : 0, Index(p.x.channel));
    }
  }

  // Partial sums lie as [span][group][tap][Cout][Cin].
  __device__ __forceinline__ void write(const product &sum, int tap) const {
    if (tap >= all_taps)
      return;
    float *to = pointer<float>(p.partial) + ((int64_t(blockIdx.x) * S::Groups + group) * all_taps + tap) * S::CO * inputs;
    sum.each([&](int m, int n, float v0, float v1) {
      const int output = first_output + m, input = first_input + n;
      if (output >= S::CO)
        return;
      store_two<inputs % 2 == 0, false>(to + output * inputs + input, 1, inputs - input, v0, v1);
    });
  }
};

template <class T, bool Tf32, class Index, class S, int Taps, bool Narrow, bool VectorX, bool VectorDY, int Threads = tile_threads>
__device__ __forceinline__ void weight_gradient_partial(const reprise_weight_gradient_arguments &p) {
  using kernel = weight_gradient_kernel<T, Tf32, Index, S, Taps, Narrow, VectorX, VectorDY, Threads>;
  constexpr int stages_x = kernel::stages_x, stages_dy = kernel::stages_dy, ahead = kernel::ahead;
  __shared__ typename kernel::tile_dy dy[stages_dy];
  __shared__ typename kernel::tile_x x[stages_x];
  kernel k(p);
  const int slices = k.slices(), steps = slices * Taps;
  auto fill = [&](int s) {
    if (s < steps) {
      if (s % Taps == 0) {
        if (s > 0)
          k.advance();
        k.fill_dy(dy[s / Taps % stages_dy]);
      }
      k.fill_x(x[s % stages_x], k.first_tap + s % Taps);
    }
    copy_commit();
  };
#pragma unroll
  for (int s = 0; s < ahead; s++)
    fill(s);
  typename kernel::product sum[Taps];
#pragma unroll
  for (int t = 0; t < Taps; t++)
    sum[t].clear();
  for (int slice = 0; slice < slices; slice++) {
#pragma unroll
    for (int t = 0; t < Taps; t++) {
      const int s = slice * Taps + t;
      copy_wait<ahead - 1>();
      __syncthreads();
      fill(s + ahead);
      sum[t].accumulate(dy[slice % stages_dy], x[s % stages_x]);
    }
  }
  copy_wait<0>();
#pragma unroll
  for (int t = 0; t < Taps; t++)
    k.write(sum[t], k.first_tap + t);
}

} // namespace reprise

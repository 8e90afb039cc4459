// Weight gradient of a convolution as a matrix product on tiles, in two passes.
//
// GEMM view, one for each tap: dW[co][ci] = sum over pixels of dY[pixel][co] *
// X[pixel moved by the tap][ci]. Both operands lie with the pixel, which is the
// inner dimension, outermost, and are transposed on the way to the tensor cores.
//
// Tiling, pass 1: a block makes BM x BN of Taps neighbouring taps for one span
// of pixels; dY is brought once and multiplied with the X of each tap. X stages
// form a ring of three, dY stages likewise.
// Grid: (spans, channel tiles, groups * tap sets). Block: 128 threads.
// Pass 2 adds the spans in order: no atomics, so the same bits every time.
#pragma once
#include "convolution.cuh"

namespace reprise {

template <class T, bool Tf32, class Index, class S, int Taps, bool VectorX, bool VectorDY>
struct weight_gradient_kernel {
  static constexpr int BK = sizeof(T) == 4 ? 16 : 32;
  static constexpr int all_taps = S::Kernel * S::Kernel, tiles_n = (S::CI + S::BN - 1) / S::BN;
  using product = tensor_product<T, Tf32, S::BM, S::BN, BK, true, true>;
  using tile_dy = typename product::tile_a;
  using tile_x = typename product::tile_b;

  const reprise_weight_gradient_arguments &p;
  const int group, first_tap, first_output, first_input;
  Index begin, end;

  __device__ __forceinline__ explicit weight_gradient_kernel(const reprise_weight_gradient_arguments &p)
      : p(p), group(blockIdx.z % S::Groups), first_tap(blockIdx.z / S::Groups * Taps), first_output(blockIdx.y / tiles_n * S::BM), first_input(blockIdx.y % tiles_n * S::BN) {
    const Index pixels = Index(p.batch) * Index(p.output_height) * Index(p.output_width);
    begin = smaller(Index(blockIdx.x) * Index(p.span), pixels);
    end = smaller(begin + Index(p.span), pixels);
  }

  __device__ __forceinline__ int slices() const { return int((end - begin + BK - 1) / BK); }

  __device__ __forceinline__ void fill_dy(tile_dy &to, int slice) const {
    constexpr int across = S::BM / chunk<T>;
    for (int c = threadIdx.x; c < tile_dy::chunks; c += tile_threads) {
      const int row = c / across, column = c % across * chunk<T>;
      const Index pixel = begin + Index(slice * BK + row);
      const int output = first_output + column;
      const int valid = pixel < end ? smaller(S::CO - output, chunk<T>) : 0;
      Index offset = 0;
      if (valid > 0) {
        const Index x = pixel % Index(p.output_width), rest = pixel / Index(p.output_width);
        offset = pixel_offset(p.dy, rest / Index(p.output_height), rest % Index(p.output_height), x) + Index(group * S::CO + output) * Index(VectorDY ? 1 : p.dy.channel);
      }
      bring<VectorDY>(to.at(row, column), pointer<const T>(p.dy.data) + offset, valid > 0 ? valid : 0, Index(p.dy.channel));
    }
  }

  __device__ __forceinline__ void fill_x(tile_x &to, int slice, int tap) const {
    constexpr int across = S::BN / chunk<T>;
    const int ky = tap / S::Kernel, kx = tap % S::Kernel;
    for (int c = threadIdx.x; c < tile_x::chunks; c += tile_threads) {
      const int row = c / across, column = c % across * chunk<T>;
      const Index pixel = begin + Index(slice * BK + row);
      const int input = first_input + column;
      int valid = pixel < end && tap < all_taps ? smaller(S::CI - input, chunk<T>) : 0;
      Index offset = 0;
      if (valid > 0) {
        const Index column_of = pixel % Index(p.output_width), rest = pixel / Index(p.output_width);
        const int y = int(rest % Index(p.output_height)) * S::Stride - S::Padding + ky, x = int(column_of) * S::Stride - S::Padding + kx;
        if (y < 0 || y >= p.input_height || x < 0 || x >= p.input_width)
          valid = 0;
        else
          offset = pixel_offset(p.x, rest / Index(p.output_height), Index(y), Index(x)) + Index(group * S::CI + input) * Index(VectorX ? 1 : p.x.channel);
      }
      bring<VectorX>(to.at(row, column), pointer<const T>(p.x.data) + offset, valid > 0 ? valid : 0, Index(p.x.channel));
    }
  }

  // Partial sums lie as [span][group][tap][Cout][Cin].
  __device__ __forceinline__ void write(const product &sum, int tap) const {
    if (tap >= all_taps)
      return;
    float *to = pointer<float>(p.partial) + ((int64_t(blockIdx.x) * S::Groups + group) * all_taps + tap) * S::CO * S::CI;
    sum.each([&](int m, int n, float v0, float v1) {
      const int output = first_output + m, input = first_input + n;
      if (output >= S::CO)
        return;
      store_two<S::CI % 2 == 0, false>(to + output * S::CI + input, 1, S::CI - input, v0, v1);
    });
  }
};

template <class T, bool Tf32, class Index, class S, int Taps, bool VectorX, bool VectorDY>
__device__ __forceinline__ void weight_gradient_partial(const reprise_weight_gradient_arguments &p) {
  using kernel = weight_gradient_kernel<T, Tf32, Index, S, Taps, VectorX, VectorDY>;
  __shared__ typename kernel::tile_dy dy[stages];
  __shared__ typename kernel::tile_x x[stages];
  const kernel k(p);
  const int slices = k.slices(), steps = slices * Taps;
  auto fill = [&](int s) {
    if (s < steps) {
      if (s % Taps == 0)
        k.fill_dy(dy[s / Taps % stages], s / Taps);
      k.fill_x(x[s % stages], s / Taps, k.first_tap + s % Taps);
    }
    copy_commit();
  };
#pragma unroll
  for (int s = 0; s < stages - 1; s++)
    fill(s);
  typename kernel::product sum[Taps];
#pragma unroll
  for (int t = 0; t < Taps; t++)
    sum[t].clear();
  for (int slice = 0; slice < slices; slice++) {
#pragma unroll
    for (int t = 0; t < Taps; t++) {
      const int s = slice * Taps + t;
      copy_wait<stages - 2>();
      __syncthreads();
      fill(s + stages - 1);
      sum[t].accumulate(dy[slice % stages], x[s % stages]);
    }
  }
  copy_wait<0>();
#pragma unroll
  for (int t = 0; t < Taps; t++)
    k.write(sum[t], k.first_tap + t);
}

// Pass 2. 32 results a block, the spans shared by eight row lanes, then the
// lanes in order. The result lies as the parameter does: [Cout][Cin][tap].
template <int CI, int CO, int Taps, int Groups, bool Accumulate>
__device__ __forceinline__ void weight_gradient_reduce(const reprise_reduce_arguments &p) {
  constexpr int lanes = 8, inputs = CI / Groups, outputs = CO / Groups, total = CO * inputs * Taps;
  __shared__ float shared[lanes][32];
  const int column = threadIdx.x % 32, lane = threadIdx.x / 32, item = blockIdx.x * 32 + column;
  float sum = 0x0p+0f;
  if (item < total)
    for (int r = lane; r < p.rows; r += lanes)
      sum += pointer<const float>(p.partial)[int64_t(r) * total + item];
  shared[lane][column] = sum;
  __syncthreads();
  if (lane != 0 || item >= total)
    return;
#pragma unroll
  for (int l = 1; l < lanes; l++)
    sum += shared[l][column];
  const int input = item % inputs, output = item / inputs % outputs, tap = item / (inputs * outputs) % Taps, group = item / (inputs * outputs * Taps);
  float *to = pointer<float>(p.result) + ((group * outputs + output) * inputs + input) * Taps + tap;
  *to = Accumulate ? *to + sum : sum;
}

} // namespace reprise

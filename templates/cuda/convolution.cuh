// Convolution and its input gradient as an implicit matrix product on tiles.
//
// GEMM view: rows are pixels of the result, counted over the whole batch, so
// that any batch and map size fills its tiles; columns are channels of the
// result; the inner dimension runs over taps and, within a tap, over channels.
//
// Tiling: a block makes BM pixels x BN channels. It walks the inner dimension
// in steps of one tap and tile_depth channels through a ring of three stages in
// shared memory, filled by asynchronous copies two steps ahead. Copies outside
// the map bring zeros, which is the padding.
// Grid: (pixels/BM, channels/BN, groups * parity classes). Block: 128 threads.
//
// Input gradient of stride S: the pixels of dX fall into S*S parity classes;
// each class meets a fixed subset of the taps, so no product with zero is made.
#pragma once
#include "tile.cuh"

namespace reprise {

constexpr int stages = 3;

// The taps that pixels of one parity meet along one axis: tap first + j * S
// reads source base + i - j, i counting pixels of that parity.
template <int Kernel, int Stride>
struct parity_taps {
  int first, count, base;

  __device__ __forceinline__ explicit parity_taps(int parity) {
    constexpr int padding = (Kernel - 1) / 2;
    first = (parity + padding) % Stride;
    count = first < Kernel ? (Kernel - first + Stride - 1) / Stride : 0;
    base = (parity + padding - first) / Stride;
  }
};

// Constants that the forward pass and the gradient share. CI, CO: channels of
// X and Y of the layer; Padded: channels of a packed weight row.
template <int CI_, int CO_, int Kernel_, int Stride_, int Groups_, int BM_, int BN_>
struct convolution_shape {
  static constexpr int Kernel = Kernel_, Stride = Stride_, Groups = Groups_, BM = BM_, BN = BN_;
  static constexpr int CI = CI_ / Groups, CO = CO_ / Groups, Padded = (CI + 15) / 16 * 16;
  static constexpr int Padding = (Kernel - 1) / 2;
};

// Where one pixel of the result gets its inputs.
template <class Index>
struct source {
  Index image; // offset of the image
  int y, x;    // source of tap 0; taps add (forward) or subtract (gradient)
  bool exists;
};

template <class T, bool Tf32, class Index, class S, bool Gradient, bool Vector, bool Pair, bool HasBias, bool Accumulate, class Y>
struct convolution_kernel {
  static constexpr int depth = Gradient ? S::CO : S::CI, width = Gradient ? S::CI : S::CO;
  static constexpr int BK = tile_depth<T, depth>, slices = (depth + BK - 1) / BK;
  static constexpr int step = Gradient ? S::Stride : 1;
  using product = tensor_product<T, Tf32, S::BM, S::BN, BK, false, Gradient>;
  static constexpr int chunks_a = BK / chunk<T>;
  static constexpr int pixels_a_thread = S::BM * chunks_a / tile_threads;
  struct stage {
    typename product::tile_a a;
    typename product::tile_b b;
  };

  const reprise_convolution_arguments &p;
  const int group, parity_y, parity_x, first_column;
  const parity_taps<S::Kernel, S::Stride> taps_y, taps_x;
  int height, width_pixels; // of the map whose pixels are the rows of the product
  Index pixels;
  source<Index> from[pixels_a_thread];

  __device__ __forceinline__ explicit convolution_kernel(const reprise_convolution_arguments &p)
      : p(p), group(blockIdx.z % S::Groups), parity_y(blockIdx.z / S::Groups / step), parity_x(blockIdx.z / S::Groups % step),
        first_column(blockIdx.y * S::BN), taps_y(parity_y), taps_x(parity_x) {
    height = (p.output_height - parity_y + step - 1) / step;
    width_pixels = (p.output_width - parity_x + step - 1) / step;
    pixels = Index(p.batch) * Index(height) * Index(width_pixels);
#pragma unroll
    for (int i = 0; i < pixels_a_thread; i++)
      from[i] = locate(Index(blockIdx.x) * S::BM + threadIdx.x / chunks_a + i * (tile_threads / chunks_a));
  }

  __device__ __forceinline__ source<Index> locate(Index pixel) const {
    source<Index> s;
    s.exists = pixel < pixels;
    const Index x = pixel % Index(width_pixels), rest = pixel / Index(width_pixels);
    const int column = int(x), row = int(rest % Index(height));
    s.image = rest / Index(height) * Index(p.input.image);
    s.y = Gradient ? row + taps_y.base : row * S::Stride - S::Padding;
    s.x = Gradient ? column + taps_x.base : column * S::Stride - S::Padding;
    return s;
  }

  __device__ __forceinline__ int steps() const { return (Gradient ? taps_y.count * taps_x.count : S::Kernel * S::Kernel) * slices; }

  // Starts the copies of one step.
  __device__ __forceinline__ void fill(stage &to, int number) const {
    const int slice = number % slices, tap = number / slices;
    const int across = Gradient ? taps_x.count : S::Kernel;
    const int ty = tap / across, tx = tap % across;
    const int channel = slice * BK + threadIdx.x % chunks_a * chunk<T>;
#pragma unroll
    for (int i = 0; i < pixels_a_thread; i++) {
      const int y = Gradient ? from[i].y - ty : from[i].y + ty, x = Gradient ? from[i].x - tx : from[i].x + tx;
      const bool inside = from[i].exists && y >= 0 && y < p.input_height && x >= 0 && x < p.input_width;
      const int valid = inside ? smaller(depth - channel, chunk<T>) : 0;
      const Index offset = valid > 0 ? from[i].image + Index(y) * Index(p.input.row) + Index(x) * Index(p.input.column) + Index(group * depth + channel) * Index(Vector ? 1 : p.input.channel) : 0;
      bring<Vector>(to.a.at(threadIdx.x / chunks_a + i * (tile_threads / chunks_a), threadIdx.x % chunks_a * chunk<T>), pointer<const T>(p.input.data) + offset, smaller(valid < 0 ? 0 : valid, chunk<T>), Index(p.input.channel));
    }
    const int ky = Gradient ? taps_y.first + ty * S::Stride : ty, kx = Gradient ? taps_x.first + tx * S::Stride : tx;
    const T *weight = pointer<const T>(p.weight) + int64_t((ky * S::Kernel + kx) * S::Groups + group) * S::CO * S::Padded;
    fill_weight(to.b, weight, slice * BK);
  }

  // The gradient reads weights as they lie, [Cout][Cin], with Cout as depth.
  __device__ __forceinline__ void fill_weight(typename product::tile_b &to, const T *weight, int first_depth) const {
    constexpr int across = (Gradient ? S::BN : BK) / chunk<T>;
    for (int c = threadIdx.x; c < product::tile_b::chunks; c += tile_threads) {
      const int row = c / across, column = c % across * chunk<T>;
      const int output = Gradient ? first_depth + row : first_column + row;
      const int input = Gradient ? first_column + column : first_depth + column;
      const bool exists = output < S::CO && input < S::Padded;
      bring<true>(to.at(row, column), weight + (exists ? output * S::Padded + input : 0), exists ? chunk<T> : 0, 1);
    }
  }

  __device__ __forceinline__ void write(const product &sum) const {
    sum.each([&](int m, int n, float v0, float v1) {
      const Index pixel = Index(blockIdx.x) * S::BM + Index(m);
      const int channel = first_column + n;
      if (pixel >= pixels || channel >= width)
        return;
      const Index x = pixel % Index(width_pixels), rest = pixel / Index(width_pixels);
      const Index row = rest % Index(height) * step + Index(parity_y), column = x * step + Index(parity_x);
      if constexpr (HasBias) {
        v0 += pointer<const float>(p.bias)[group * width + channel];
        v1 += channel + 1 < width ? pointer<const float>(p.bias)[group * width + channel + 1] : 0x0p+0f;
      }
      const Index offset = pixel_offset(p.output, rest / Index(height), row, column) + Index(group * width + channel) * Index(Pair ? 1 : p.output.channel);
      store_two<Pair, Accumulate>(pointer<Y>(p.output.data) + offset, Index(p.output.channel), width - channel, v0, v1);
    });
  }
};

template <class T, bool Tf32, class Index, class S, bool Gradient, bool Vector, bool Pair, bool HasBias, bool Accumulate, class Y>
__device__ __forceinline__ void convolution(const reprise_convolution_arguments &p) {
  using kernel = convolution_kernel<T, Tf32, Index, S, Gradient, Vector, Pair, HasBias, Accumulate, Y>;
  __shared__ typename kernel::stage ring[stages];
  const kernel k(p);
  const int steps = k.steps();
#pragma unroll
  for (int s = 0; s < stages - 1; s++) {
    if (s < steps)
      k.fill(ring[s], s);
    copy_commit();
  }
  typename kernel::product sum;
  sum.clear();
  for (int s = 0; s < steps; s++) {
    copy_wait<stages - 2>();
    __syncthreads(); // step s has arrived for all, and all have left the stage that is filled next
    if (s + stages - 1 < steps)
      k.fill(ring[(s + stages - 1) % stages], s + stages - 1);
    copy_commit();
    sum.accumulate(ring[s % stages].a, ring[s % stages].b);
  }
  copy_wait<0>();
  k.write(sum);
}

} // namespace reprise

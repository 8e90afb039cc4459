// Weight gradient of a 1x1 convolution of stride 1 in 16 bits, first pass: one
// matrix product over pixels that lie one after the other in memory.
//
// Tiling: a block makes BM x BN weights from its span of pixels, through a ring
// of stages of `depth` pixels. Sides are as long as registers allow, so that dY
// and X are read few times: what limits them is the way from the second-level
// cache. A side of 128 has four warps, of 64 two; where that leaves some, warps
// share the pixels, and their shares are added in order. dY may be the
// last gradient of a head, few channels without alignment.
// Grid: (spans, channel tiles). Block: Threads. Shared memory is dynamic; Shared
// is what a launch asks for. The same launch suits the kernel of
// weight_gradient.cuh, which other precisions take.
#pragma once
#include "weight_gradient_ring.cuh"

namespace reprise {

// A thread's share of bringing Depth pixels at a time, Side of Channels each, to
// where a stage holds them; `at` is where the stage begins in the ring.
template <class T, class Index, int Threads, int Depth, int Side, int Channels>
struct flat_rows {
  using target = tile<T, Depth, Side>;
  using share = row_share<T, Threads, Depth, 1, Side>;
  const T *from;
  const uint32_t to;
  const int64_t step;
  const int bytes;

  __device__ __forceinline__ flat_rows(const reprise_map &map, const reprise_weight_gradient_arguments &, target &first, Index pixel, int channel)
      : from(pointer<const T>(map.data) + (pixel + share::row()) * Index(map.column) + Index(channel + share::channel())), to(shared_address(first.at(share::row(), share::channel()))), step(int64_t(share::together) * map.column), bytes(chunk_bytes<T, Channels>(channel + share::channel())) {}

  // left is how many pixels are yet to come.
  __device__ __forceinline__ void bring(uint32_t at, int left) { share::template bring<target::stride *int(sizeof(T))>(to + at, from, step, share::row(), left, bytes); }
};

// The same for channels that cannot be copied 16 bytes at a time, and images that
// may lie apart. A thread loads one channel of every few pixels.
template <class T, class Index, int Threads, int Depth, int Side, int Channels>
struct flat_elements {
  using target = tile<T, Depth, Side>;
  static constexpr int together = Threads / Side, count = Depth / together;
  static_assert(Threads % Side == 0 && Depth % together == 0, "no share of such pixels");
  const T *from;
  T *const to;
  const Index column, image, pixels; // distances of pixels and images, and pixels of an image
  const bool exists;
  Index start, rest; // where the image of this thread's next pixel begins, and the pixel's number in it

  __device__ __forceinline__ flat_elements(const reprise_map &map, const reprise_weight_gradient_arguments &p, target &first, Index pixel, int channel)
      : to(first.at(row(), threadIdx.x % Side)), column(Index(map.column)), image(Index(map.image)), pixels(Index(p.output_height) * Index(p.output_width)), exists(channel + int(threadIdx.x % Side) < Channels), start(pixel / pixels * image), rest(pixel % pixels + row()) {
    from = pointer<const T>(map.data) + (exists ? Index(channel + threadIdx.x % Side) * Index(map.channel) : 0);
  }

  static __device__ __forceinline__ int row() { return threadIdx.x / Side; }

  // Moves into the image of a pixel, from one of those before.
  __device__ __forceinline__ void enter(Index &start, Index &pixel) const {
    for (; pixel >= pixels; pixel -= pixels)
      start += image;
  }

  __device__ __forceinline__ void bring(uint32_t at, int left) {
    T element[count];
#pragma unroll
    for (int i = 0; i < count; i++) { // all on their way at once
      Index first = start, pixel = rest + i * together;
      enter(first, pixel);
      element[i] = from[row() + i * together < left ? first + pixel * column : 0];
    }
    T *const stage = reinterpret_cast<T *>(reinterpret_cast<char *>(to) + at);
#pragma unroll
    for (int i = 0; i < count; i++)
      stage[i * together * target::stride] = exists && row() + i * together < left ? element[i] : T{};
    rest += Depth;
    enter(start, rest);
  }
};

template <class T, class Index, class S, int Threads, int Depth, int Stages, bool VectorDY>
struct weight_gradient_flat_kernel {
  static_assert(S::Kernel == 1 && S::Stride == 1 && S::Groups == 1, "no layer for this kernel");
  static constexpr int threads = Threads, stages = Stages;
  static constexpr int warps_of(int side) { return side >= 128 ? 4 : side >= 64 ? 2
                                                                                : 1; }
  static constexpr int warps_m = warps_of(S::BM), warps_n = smaller(warps_of(S::BN), threads / 32 / warps_m), shares = threads / 32 / warps_n / warps_m;
  static constexpr int rows = S::BM / warps_m / 16, pairs = S::BN / warps_n / 16;
  static_assert(rows * warps_m * 16 == S::BM && pairs * warps_n * 16 == S::BN, "no tile for this layer");
  static constexpr int tiles_n = (S::CI + S::BN - 1) / S::BN;
  static_assert(Depth % (16 * shares) == 0, "no ring for this tile");
  using rows_x = flat_rows<T, Index, threads, Depth, S::BN, S::CI>;
  using rows_dy = typename choice<VectorDY, flat_rows<T, Index, threads, Depth, S::BM, S::CO>, flat_elements<T, Index, threads, Depth, S::BM, S::CO>>::type;
  using x_tile = typename rows_x::target;
  using dy_tile = typename rows_dy::target;
  struct stage {
    dy_tile dy;
    x_tile x;
  };
  static constexpr int held = rows * pairs * 8; // sums of a thread
  union memory {
    stage ring[stages];
    float sums[shared_sums<threads, shares, held>];
  };
  static constexpr int dy_pixel = dy_tile::stride * int(sizeof(T)), x_pixel = x_tile::stride * int(sizeof(T)); // bytes

  const reprise_weight_gradient_arguments &p;
  const int first_output, first_input, lane, warp_m, warp_n, share;
  const Index begin; // of the span
  int left;          // pixels that are yet to come
  rows_dy dy;
  rows_x x;
  uint32_t from_dy, from_x; // where this thread reads matrices in the first stage
  float sum[rows][2 * pairs][4];

  __device__ __forceinline__ explicit weight_gradient_flat_kernel(const reprise_weight_gradient_arguments &p, stage &first)
      : p(p), first_output(blockIdx.y / tiles_n * S::BM), first_input(blockIdx.y % tiles_n * S::BN), lane(threadIdx.x % 32), warp_m(threadIdx.x / 32 % warps_m), warp_n(threadIdx.x / 32 / warps_m % warps_n), share(threadIdx.x / 32 / (warps_m * warps_n)), begin(smaller(Index(blockIdx.x) * Index(p.span), pixels())), left(int(smaller(Index(p.span), pixels() - begin))), dy(p.dy, p, first.dy, begin, first_output), x(p.x, p, first.x, begin, first_input), sum{} {
    from_dy = shared_address(first.dy.at(share * 16 + lane % 8 + lane / 16 * 8, warp_m * rows * 16 + lane / 8 % 2 * 8));
    from_x = shared_address(first.x.at(share * 16 + lane % 16, warp_n * pairs * 16 + lane / 16 * 8));
  }

  __device__ __forceinline__ Index pixels() const { return Index(p.batch) * Index(p.output_height) * Index(p.output_width); }
  __device__ __forceinline__ int steps() const { return ceiling(left, Depth); }

  // Brings the next pixels.
  __device__ __forceinline__ void fill(uint32_t at) {
    x.bring(at, left);
    dy.bring(at, left);
    left -= Depth;
  }

  __device__ __forceinline__ void accumulate(uint32_t at) {
#pragma unroll
    for (int k = 0; k < Depth; k += 16 * shares) {
      uint32_t a[rows][4];
#pragma unroll
      for (int i = 0; i < rows; i++)
        load_matrix_4_transposed(a[i], from_dy + at + k * dy_pixel + i * 16 * int(sizeof(T)));
#pragma unroll
      for (int j = 0; j < pairs; j++) {
        uint32_t b[4];
        load_matrix_4_transposed(b, from_x + at + k * x_pixel + j * 16 * int(sizeof(T)));
        const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
#pragma unroll
        for (int i = 0; i < rows; i++) {
          multiply_16(sum[i][2 * j], a[i], low, static_cast<const T *>(nullptr));
          multiply_16(sum[i][2 * j + 1], a[i], high, static_cast<const T *>(nullptr));
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

template <class T, bool Tf32, class Index, class S, int Threads, int Depth, int Stages, int Shared, bool VectorDY>
__device__ __forceinline__ void weight_gradient_flat(const reprise_weight_gradient_arguments &p) {
  if constexpr (sizeof(T) != 2) {
    // Copies of that kernel go by rows of a power of two.
    using wide = convolution_shape<S::CI, S::CO, 1, 1, 1, S::BM <= 64 ? 64 : 128, S::BN <= 32 ? S::BN : S::BN <= 64 ? 64
                                                                                                                    : 128>;
    static_assert((S::CI - 1) / S::BN == (S::CI - 1) / wide::BN && (S::CO - 1) / S::BM == (S::CO - 1) / wide::BM, "the launch has the tiles of another kernel");
    weight_gradient_partial<T, Tf32, Index, wide, 1, false, true, VectorDY, Threads>(p);
  } else {
    using kernel = weight_gradient_flat_kernel<T, Index, S, Threads, Depth, Stages, VectorDY>;
    static_assert(sizeof(typename kernel::memory) == Shared, "not the memory of this kernel");
    sum_pixels<kernel>(p, dynamic_memory<typename kernel::memory>());
  }
}

} // namespace reprise

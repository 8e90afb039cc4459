// The product of two tiles in shared memory, accumulated in registers: the
// inner part of convolutions, their gradients and matrix products.
//
// The warps of a block, mostly four, lie in two columns over a tile BM x BN when
// BN is 64 or more, or rows are too few for all of them, else in one. 16-bit
// operands go to the tensor cores (m16n8k16), FP32 operands to FMA instructions, or
// to the tensor cores as TF32 (m16n8k8) when the fit asked for it. A tile row in shared memory ends with 16 bytes of padding: rows
// of 8 matrices then start in different banks.
#pragma once
#include "types.cuh"

namespace reprise {

constexpr int tile_threads = 128;

// Elements of T in the 16 bytes that one copy moves.
template <class T>
constexpr int chunk = 16 / int(sizeof(T));

// Length of the inner dimension of a tile: 64 bytes, or 32 when there is no more.
template <class T, int Depth>
constexpr int tile_depth = sizeof(T) == 4 || Depth <= 16 ? 16 : 32;

// A tile of Rows x Length elements in shared memory.
template <class T, int Rows, int Length>
struct alignas(16) tile {
  static constexpr int stride = Length + chunk<T>;
  static constexpr int chunks = Rows * (Length / chunk<T>);
  T element[Rows * stride];

  __device__ __forceinline__ T *at(int row, int column) { return element + row * stride + column; }
};

struct alignas(16) sixteen_bytes {
  char byte[16];
};

// An object in the dynamic shared memory of the block.
template <class M>
__device__ __forceinline__ M &dynamic_memory() {
  extern __shared__ sixteen_bytes dynamic_bytes[];
  return *reinterpret_cast<M *>(dynamic_bytes);
}

// Brings one chunk of a tile: valid elements from global memory, then zeros.
// Vector: they are contiguous, aligned to 16 bytes and of the type of the tile;
// otherwise each is loaded and rounded by itself.
template <bool Vector, class T, class From, class Index>
__device__ __forceinline__ void bring(T *to, const From *from, int valid, Index step) {
  if constexpr (Vector) {
    copy_async_16(shared_address(to), from, valid * int(sizeof(T)));
  } else {
    group<T, chunk<T>> g = {};
#pragma unroll
    for (int i = 0; i < chunk<T>; i++)
      if (i < valid)
        g.element[i] = storage<T>::round(to_float(from[Index(i) * step]));
    *reinterpret_cast<group<T, chunk<T>> *>(to) = g;
  }
}

__device__ __forceinline__ void multiply_16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const bf16 *) { mma_m16n8k16_bf16(c, a, b); }
__device__ __forceinline__ void multiply_16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const fp16 *) { mma_m16n8k16_fp16(c, a, b); }

// AByDepth: A lies as [depth][m] in place of [m][depth]; BByDepth: B lies as
// [depth][n] in place of [n][depth].
template <class T, bool Tf32, int BM, int BN, int BK, bool AByDepth, bool BByDepth, int Threads = tile_threads>
struct tensor_product {
  using tile_a = tile<T, AByDepth ? BK : BM, AByDepth ? BM : BK>;
  using tile_b = tile<T, BByDepth ? BK : BN, BByDepth ? BN : BK>;
  static constexpr int warps_n = BN >= 64 || Threads / 32 > BM / 16 ? 2 : 1, warps_m = Threads / 32 / warps_n;
  static constexpr int rows = BM / warps_m / 16, columns = BN / warps_n / 8;
  static_assert(rows >= 1 && columns >= 2 && columns % 2 == 0, "tile too small for its warps");
  float sum[rows][columns][4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < rows; i++)
#pragma unroll
      for (int j = 0; j < columns; j++)
        sum[i][j][0] = sum[i][j][1] = sum[i][j][2] = sum[i][j][3] = 0x0p+0f;
  }

  static __device__ __forceinline__ int first_row() { return threadIdx.x / 32 % warps_m * rows * 16; }
  static __device__ __forceinline__ int first_column() { return threadIdx.x / 32 / warps_m * columns * 8; }

  __device__ __forceinline__ void accumulate(tile_a &a, tile_b &b) {
    if constexpr (sizeof(T) == 2)
      accumulate_16(a, b);
    else
      accumulate_tf32(a, b);
  }

  __device__ __forceinline__ void accumulate_16(tile_a &a, tile_b &b) {
    const int lane = threadIdx.x % 32, low = lane % 8 + lane / 16 * 8, side = lane / 8 % 2 * 8;
    accumulate_rows([&](int i, int k) {
      const int m = first_row() + i * 16;
      return shared_address(AByDepth ? a.at(k + low, m + side) : a.at(m + lane % 16, k + lane / 16 * 8));
    },
                    b);
  }

  // address(i, k) is where this lane's row of the i-th block of 16 rows of A lies
  // from depth k on.
  template <class Address>
  __device__ __forceinline__ void accumulate_rows(Address address, tile_b &b) {
    const int lane = threadIdx.x % 32, low = lane % 8 + lane / 16 * 8, side = lane / 8 % 2 * 8;
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
      uint32_t fa[rows][4], fb[columns][2];
#pragma unroll
      for (int i = 0; i < rows; i++)
        if constexpr (AByDepth)
          load_matrix_4_transposed(fa[i], address(i, k));
        else
          load_matrix_4(fa[i], address(i, k));
#pragma unroll
      for (int j = 0; j < columns; j += 2) {
        const int n = first_column() + j * 8;
        uint32_t r[4];
        if constexpr (BByDepth)
          load_matrix_4_transposed(r, shared_address(b.at(k + lane % 16, n + lane / 16 * 8)));
        else
          load_matrix_4(r, shared_address(b.at(n + low, k + side)));
        fb[j][0] = r[0];
        fb[j][1] = r[1];
        fb[j + 1][0] = r[2];
        fb[j + 1][1] = r[3];
      }
#pragma unroll
      for (int i = 0; i < rows; i++)
#pragma unroll
        for (int j = 0; j < columns; j++)
          multiply_16(sum[i][j], fa[i], fb[j], static_cast<const T *>(nullptr));
    }
  }

  __device__ __forceinline__ void accumulate_tf32(tile_a &a, tile_b &b) {
    const int lane = threadIdx.x % 32, r = lane / 4, q = lane % 4;
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
      uint32_t fa[rows][4];
#pragma unroll
      for (int i = 0; i < rows; i++)
#pragma unroll
        for (int h = 0; h < 4; h++) {
          const int m = first_row() + i * 16 + r + h % 2 * 8, d = k + q + h / 2 * 4;
          fa[i][h] = round_tf32(AByDepth ? *a.at(d, m) : *a.at(m, d));
        }
#pragma unroll
      for (int j = 0; j < columns; j++) {
        uint32_t fb[2];
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const int n = first_column() + j * 8 + r, d = k + q + h * 4;
          fb[h] = round_tf32(BByDepth ? *b.at(d, n) : *b.at(n, d));
        }
#pragma unroll
        for (int i = 0; i < rows; i++)
          mma_m16n8k8_tf32(sum[i][j], fa[i], fb);
      }
    }
  }

  // Calls visit(m, n, value at n, value at n + 1) for this thread's results.
  template <class Visit>
  __device__ __forceinline__ void each(Visit visit) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < rows; i++)
#pragma unroll
      for (int h = 0; h < 2; h++)
#pragma unroll
        for (int j = 0; j < columns; j++)
          visit(first_row() + i * 16 + lane / 4 + h * 8, first_column() + j * 8 + lane % 4 * 2, sum[i][j][2 * h], sum[i][j][2 * h + 1]);
  }
};

// The same in true FP32. A thread has BM/16 rows, 16 apart, and pairs of
// columns, Threads/8 apart; operands along the depth are read four at a time.
template <int BM, int BN, int BK, bool AByDepth, bool BByDepth, int Threads>
struct tensor_product<float, false, BM, BN, BK, AByDepth, BByDepth, Threads> {
  using tile_a = tile<float, AByDepth ? BK : BM, AByDepth ? BM : BK>;
  using tile_b = tile<float, BByDepth ? BK : BN, BByDepth ? BN : BK>;
  static constexpr int rows = BM / 16, columns_apart = Threads / 8, columns = BN / columns_apart;
  float sum[rows][columns][2];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < rows; i++)
#pragma unroll
      for (int j = 0; j < columns; j++)
        sum[i][j][0] = sum[i][j][1] = 0x0p+0f;
  }

  static __device__ __forceinline__ int row(int i) { return threadIdx.x % 16 + 16 * i; }
  static __device__ __forceinline__ int column(int j) { return threadIdx.x / 16 * 2 + columns_apart * j; }

  __device__ __forceinline__ void accumulate(tile_a &a, tile_b &b) {
#pragma unroll 1 // a sixth less code to load for a hundredth of the time of a step
    for (int k = 0; k < BK; k += 4) {
      float fa[rows][4], fb[columns][2][4];
#pragma unroll
      for (int i = 0; i < rows; i++)
        if constexpr (AByDepth) {
#pragma unroll
          for (int d = 0; d < 4; d++)
            fa[i][d] = *a.at(k + d, row(i));
        } else {
          load<4>(fa[i], a.at(row(i), k));
        }
#pragma unroll
      for (int j = 0; j < columns; j++)
#pragma unroll
        for (int h = 0; h < 2; h++)
          if constexpr (BByDepth) {
#pragma unroll
            for (int d = 0; d < 4; d++)
              fb[j][h][d] = *b.at(k + d, column(j) + h);
          } else {
            load<4>(fb[j][h], b.at(column(j) + h, k));
          }
#pragma unroll
      for (int d = 0; d < 4; d++)
#pragma unroll
        for (int i = 0; i < rows; i++)
#pragma unroll
          for (int j = 0; j < columns; j++)
#pragma unroll
            for (int h = 0; h < 2; h++)
              sum[i][j][h] = fused_multiply_add(fa[i][d], fb[j][h][d], sum[i][j][h]);
    }
  }

  template <class Visit>
  __device__ __forceinline__ void each(Visit visit) const {
#pragma unroll
    for (int i = 0; i < rows; i++)
#pragma unroll
      for (int j = 0; j < columns; j++)
        visit(row(i), column(j), sum[i][j][0], sum[i][j][1]);
  }
};

// Stores two neighbouring results, at once where that is aligned, and only
// those that exist.
template <bool Pair, bool Accumulate, class Y, class Index>
__device__ __forceinline__ void store_two(Y *to, Index step, int valid, float v0, float v1) {
  if constexpr (Pair) {
    if (valid >= 2) {
      float v[2] = {v0, v1};
      if constexpr (Accumulate) {
        float old[2];
        load<2>(old, to);
        v[0] += old[0];
        v[1] += old[1];
      }
      store<2>(to, v);
      return;
    }
  }
  if (valid >= 1)
    *to = storage<Y>::round(Accumulate ? to_float(*to) + v0 : v0);
  if (valid >= 2)
    to[step] = storage<Y>::round(Accumulate ? to_float(to[step]) + v1 : v1);
}

} // namespace reprise

// Batched matrix products, for attention.
//
// Tiling: BM x BN of Y a block, the depth in steps of BK through a ring of
// stages. A and B are brought as they lie in memory: along the depth
// or along their other dimension, whichever is contiguous (ByDepth: the other),
// and turned on the way to the tensor cores. Y goes through shared memory to
// 16-byte stores. Whether copies and stores of 16 bytes are aligned may depend on
// the sizes of a call: attention over a map has as many columns as the map has
// pixels. Then each block finds out for itself.
// Grid: (row tiles, column tiles, batch). Block: 128 threads.
#pragma once
#include "convolution.cuh"

namespace reprise {

// How an operand is brought: element by element, in 16-byte copies where they
// turn out to be aligned, or in 16-byte copies.
enum copies { single_copies,
              checked_copies,
              vector_copies };

// Whether copies of Bytes bytes along the contiguous dimension, number inner,
// are aligned.
template <int Bytes, class T>
__device__ __forceinline__ bool copies_aligned(const reprise_tensor &t, int inner) {
  uint64_t bits = t.data;
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (i != inner)
      bits |= uint64_t(t.stride[i]) * sizeof(T);
  return bits % Bytes == 0;
}

// One operand as a tile: element (i, d), i its row or column of Y, d the depth.
template <class T, bool ByDepth, bool Vector, class Tile, class From, class Index>
__device__ __forceinline__ void fill_operand(Tile &to, const From *from, int first_i, int first_d, Index step_i, Index step_d, int end_i, int end_d) {
  constexpr int across = (Tile::stride - chunk<T>) / chunk<T>;
  for (int c = threadIdx.x; c < Tile::chunks; c += tile_threads) {
    const int row = c / across, column = c % across * chunk<T>;
    const int i = first_i + (ByDepth ? column : row), d = first_d + (ByDepth ? row : column);
    int valid = ByDepth ? (d < end_d ? end_i - i : 0) : (i < end_i ? end_d - d : 0);
    valid = valid < 0 ? 0 : smaller(valid, chunk<T>);
    bring<Vector>(to.at(row, column), from + (valid > 0 ? Index(i) * step_i + Index(d) * step_d : 0), valid, ByDepth ? step_i : step_d);
  }
}

// One stage of the ring.
template <class Product>
struct operand_tiles {
  typename Product::tile_a a;
  typename Product::tile_b b;
};

template <bool Value>
struct constant_bool {
  static constexpr bool value = Value;
};

// Calls work with a condition as a constant; only the possible calls exist.
template <bool MayBeTrue, bool MayBeFalse, class Work>
__device__ __forceinline__ void choose(bool condition, Work work) {
  if constexpr (!MayBeFalse)
    work(constant_bool<true>{});
  else if constexpr (!MayBeTrue)
    work(constant_bool<false>{});
  else if (condition)
    work(constant_bool<true>{});
  else
    work(constant_bool<false>{});
}

// Steps of the depth: 64 bytes, or 128.
template <class T, bool Deep>
constexpr int matmul_depth = (sizeof(T) == 4 ? 16 : 32) * (Deep ? 2 : 1);

// A tile of Y in shared memory, whence it is written V neighbours at a time. A
// row ends with 16 bytes of padding.
template <int BM, int BN, bool HasBias, bool Accumulate, class Y>
struct result_tile {
  static constexpr int V = chunk<Y>, stride = BN + 4, across = BN / V;
  float *const memory;

  // Where rows of Y are made of aligned chunks.
  static __device__ __forceinline__ bool fits(const reprise_matmul_arguments &p) { return copies_aligned<16, Y>(p.y, 3) && p.extent[3] % V == 0; }

  template <class Product>
  __device__ __forceinline__ void fill(const Product &sum, float alpha) const {
    sum.each([&](int m, int n, float v0, float v1) {
      const float two[2] = {v0 * alpha, v1 * alpha};
      store<2>(memory + m * stride + n, two);
    });
  }

  // y is the first element of the tile, of which rows x columns exist.
  template <class Index>
  __device__ __forceinline__ void write(Y *y, Index row_stride, int rows, int columns, const float *bias) const {
#pragma unroll
    for (int c = threadIdx.x; c < BM * across; c += tile_threads) {
      const int row = c / across, column = c % across * V;
      if (row >= rows || column >= columns)
        continue;
      float v[V];
      load<V>(v, static_cast<const float *>(memory + row * stride + column));
      if constexpr (HasBias)
#pragma unroll
        for (int i = 0; i < V; i++)
          v[i] += bias[column + i];
      Y *to = y + Index(row) * row_stride + column;
      if constexpr (Accumulate) {
        float old[V];
        load<V>(old, static_cast<const Y *>(to));
#pragma unroll
        for (int i = 0; i < V; i++)
          v[i] += old[i];
      }
      store<V>(to, v);
    }
  }
};

// Writes the results where they are, two neighbours at a time if that is aligned.
template <int CopiesY, bool HasBias, bool Accumulate, uint32_t Alpha, class Index, class Product, class Y>
__device__ __forceinline__ void write_pairs(const reprise_matmul_arguments &p, const Product &sum, Y *y, int first_row, int first_column) {
  const int rows = int(p.extent[2]), columns = int(p.extent[3]);
  const bool pairs = CopiesY == vector_copies || (CopiesY == checked_copies && copies_aligned<2 * sizeof(Y), Y>(p.y, 3));
  sum.each([&](int m, int n, float v0, float v1) {
    const int row = first_row + m, column = first_column + n;
    if (row >= rows || column >= columns)
      return;
    v0 *= float_from_bits(Alpha);
    v1 *= float_from_bits(Alpha);
    if constexpr (HasBias) {
      v0 += pointer<const float>(p.bias)[column];
      v1 += column + 1 < columns ? pointer<const float>(p.bias)[column + 1] : 0x0p+0f;
    }
    Y *to = y + Index(row) * Index(p.y.stride[2]) + Index(column) * Index(p.y.stride[3]);
    choose<CopiesY != single_copies, CopiesY != vector_copies>(pairs, [&](auto pair) { store_two<decltype(pair)::value, Accumulate>(to, Index(p.y.stride[3]), columns - column, v0, v1); });
  });
}

template <class T, bool Tf32, class Index, int BM, int BN, bool Deep, bool AByDepth, bool BByDepth, int CopiesA, int CopiesB, int CopiesY, bool HasBias, bool Accumulate, uint32_t Alpha, class A, class B, class Y>
__device__ __forceinline__ void matmul(const reprise_matmul_arguments &p) {
  constexpr int BK = matmul_depth<T, Deep>;
  using product = tensor_product<T, Tf32, BM, BN, BK, AByDepth, BByDepth>;
  using stage = operand_tiles<product>;
  constexpr int stages = int(sizeof(stage)) * 4 <= ring_bytes ? 4 : 3;
  __shared__ stage ring[stages];
  const Index outer = Index(blockIdx.z) / Index(p.extent[1]), inner = Index(blockIdx.z) % Index(p.extent[1]);
  const A *a = pointer<const A>(p.a.data) + outer * Index(p.a.stride[0]) + inner * Index(p.a.stride[1]);
  const B *b = pointer<const B>(p.b.data) + outer * Index(p.b.stride[0]) + inner * Index(p.b.stride[1]);
  Y *y = pointer<Y>(p.y.data) + outer * Index(p.y.stride[0]) + inner * Index(p.y.stride[1]);
  const int first_row = blockIdx.x * BM, first_column = blockIdx.y * BN;
  const int rows = int(p.extent[2]), columns = int(p.extent[3]), depth = int(p.depth), steps = ceiling(depth, BK);
  const bool vector_a = CopiesA == vector_copies || (CopiesA == checked_copies && copies_aligned<16, A>(p.a, AByDepth ? 2 : 3));
  const bool vector_b = CopiesB == vector_copies || (CopiesB == checked_copies && copies_aligned<16, B>(p.b, BByDepth ? 3 : 2));
  auto fill_a = [&](auto vector, int s) { fill_operand<T, AByDepth, decltype(vector)::value>(ring[s % stages].a, a, first_row, s * BK, Index(p.a.stride[2]), Index(p.a.stride[3]), rows, depth); };
  auto fill_b = [&](auto vector, int s) { fill_operand<T, BByDepth, decltype(vector)::value>(ring[s % stages].b, b, first_column, s * BK, Index(p.b.stride[3]), Index(p.b.stride[2]), columns, depth); };
  auto fill = [&](int s) {
    if (s < steps) {
      choose<CopiesA != single_copies, CopiesA != vector_copies>(vector_a, [&](auto vector) { fill_a(vector, s); });
      choose<CopiesB != single_copies, CopiesB != vector_copies>(vector_b, [&](auto vector) { fill_b(vector, s); });
    }
    copy_commit();
  };
#pragma unroll
  for (int s = 0; s < stages - 1; s++)
    fill(s);
  product sum;
  sum.clear();
  for (int s = 0; s < steps; s++) {
    copy_wait<stages - 2>();
    __syncthreads();
    fill(s + stages - 1);
    sum.accumulate(ring[s % stages].a, ring[s % stages].b);
  }
  copy_wait<0>();
  if constexpr (CopiesY != single_copies) {
    using result = result_tile<BM, BN, HasBias, Accumulate, Y>;
    static_assert(sizeof(ring) >= BM * result::stride * sizeof(float), "the result takes the place of the ring");
    if (result::fits(p)) {
      const result tile{reinterpret_cast<float *>(ring)};
      __syncthreads(); // the ring has been read
      tile.fill(sum, float_from_bits(Alpha));
      __syncthreads();
      tile.write(y + Index(first_row) * Index(p.y.stride[2]) + first_column, Index(p.y.stride[2]), rows - first_row, columns - first_column, pointer<const float>(p.bias) + first_column);
      return;
    }
  }
  write_pairs<CopiesY, HasBias, Accumulate, Alpha, Index>(p, sum, y, first_row, first_column);
}

} // namespace reprise

// Batched matrix products, for attention.
//
// Tiling: 64 x BN of Y a block, the depth in steps of tile_depth through a ring
// of three stages. A and B are brought as they lie in memory: along the depth
// or along their other dimension, whichever is contiguous (ByDepth: the other),
// and turned on the way to the tensor cores.
// Grid: (row tiles, column tiles, batch). Block: 128 threads.
#pragma once
#include "convolution.cuh"

namespace reprise {

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

template <class T, bool Tf32, class Index, int BN, bool AByDepth, bool BByDepth, bool VectorA, bool VectorB, bool Pair, bool HasBias, bool Accumulate, uint32_t Alpha, class A, class B, class Y>
__device__ __forceinline__ void matmul(const reprise_matmul_arguments &p) {
  constexpr int BM = 64, BK = sizeof(T) == 4 ? 16 : 32;
  using product = tensor_product<T, Tf32, BM, BN, BK, AByDepth, BByDepth>;
  struct stage {
    typename product::tile_a a;
    typename product::tile_b b;
  };
  __shared__ stage ring[stages];
  const Index outer = Index(blockIdx.z) / Index(p.extent[1]), inner = Index(blockIdx.z) % Index(p.extent[1]);
  const A *a = pointer<const A>(p.a.data) + outer * Index(p.a.stride[0]) + inner * Index(p.a.stride[1]);
  const B *b = pointer<const B>(p.b.data) + outer * Index(p.b.stride[0]) + inner * Index(p.b.stride[1]);
  Y *y = pointer<Y>(p.y.data) + outer * Index(p.y.stride[0]) + inner * Index(p.y.stride[1]);
  const int first_row = blockIdx.x * BM, first_column = blockIdx.y * BN;
  const int rows = int(p.extent[2]), columns = int(p.extent[3]), depth = int(p.depth), steps = ceiling(depth, BK);
  auto fill = [&](int s) {
    if (s < steps) {
      fill_operand<T, AByDepth, VectorA>(ring[s % stages].a, a, first_row, s * BK, Index(p.a.stride[2]), Index(p.a.stride[3]), rows, depth);
      fill_operand<T, BByDepth, VectorB>(ring[s % stages].b, b, first_column, s * BK, Index(p.b.stride[3]), Index(p.b.stride[2]), columns, depth);
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
    store_two<Pair, Accumulate>(to, Index(p.y.stride[3]), columns - column, v0, v1);
  });
}

} // namespace reprise

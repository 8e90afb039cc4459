// Results of the tensor cores as eight neighbouring channels of a pixel, without
// a detour through shared memory.
#pragma once
#include "tile.cuh"

namespace reprise {

// The tensor cores leave two neighbouring channels of a pixel, in one word or
// two, to each of four lanes. Of four such sets of eight channels, this gives
// each lane a whole one.
template <class W, int Words>
__device__ __forceinline__ void transpose_sets(W (&whole)[4 * Words], const W (&set)[4][Words]) {
  const bool odd = threadIdx.x % 2 != 0, upper = threadIdx.x / 2 % 2 != 0;
  W half[4][Words];
#pragma unroll
  for (int i = 0; i < 4; i += 2)
#pragma unroll
    for (int e = 0; e < Words; e++) {
      const W other = shuffle_xor(odd ? set[i][e] : set[i + 1][e], 1);
      half[i][e] = odd ? other : set[i][e];
      half[i + 1][e] = odd ? set[i + 1][e] : other;
    }
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int e = 0; e < Words; e++) {
      const W other = shuffle_xor(upper ? half[i][e] : half[i + 2][e], 2);
      whole[i * Words + e] = upper ? other : half[i][e];
      whole[(i + 2) * Words + e] = upper ? half[i + 2][e] : other;
    }
}

// Which results a lane gets of 16 pixels x 8 * Columns channels: those of two
// pixels, 8 apart, and one of four sets of channels, or those of one pixel and
// one of two sets.
template <int Columns>
struct neighbour_lanes {
  static_assert(Columns == 2 || Columns == 4, "a lane has no eight neighbours");
  static constexpr int sets = Columns, groups = Columns / 2, pixels = 32 / sets; // of a warp at once

  static __device__ __forceinline__ int pixel() {
    const int lane = threadIdx.x % 32;
    return lane / 4 + (Columns == 4 ? 0 : lane / 2 % 2 * 8);
  }
  static __device__ __forceinline__ int channel() { return int(threadIdx.x) % sets * 8; }
  // A number for each lane that has the same channels.
  static __device__ __forceinline__ int row() { return int(threadIdx.x) % 32 / sets; }
};

// The lane's group g of the product of one warp. With Add, `add` is added in FP32
// before the result is rounded; else it is rounded before it moves.
template <class Y, bool Add, int Columns>
__device__ __forceinline__ group<Y, 8> neighbours_of(const float (&sum)[Columns][4], int g, const float (&add)[8]) {
  const auto value = [&](int u, int e) { return sum[u % Columns][(Columns == 4 ? g : u / 2) * 2 + e]; };
  if constexpr (Add || sizeof(Y) != 2) {
    float set[4][2], v[8];
#pragma unroll
    for (int u = 0; u < 4; u++)
#pragma unroll
      for (int e = 0; e < 2; e++)
        set[u][e] = value(u, e);
    transpose_sets(v, set);
#pragma unroll
    for (int i = 0; i < 8; i++)
      v[i] += Add ? add[i] : 0x0p+0f;
    return narrow<Y>(v);
  } else {
    uint32_t set[4][1];
#pragma unroll
    for (int u = 0; u < 4; u++)
      set[u][0] = storage<Y>::pair(value(u, 0), value(u, 1));
    group<Y, 8> to;
    transpose_sets(to.word, set);
    return to;
  }
}

} // namespace reprise

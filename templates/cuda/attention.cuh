// Attention without a matrix of scores in memory.
//
// Exponentials of a row are counted from a reference that follows its largest score:
// it moves when that is more than 2^8 times as large, which is seldom, so that sums
// are seldom scaled. They are rounded to T for the product with values.
// Grid: (queries/64, 1, batch). Block: 128 * Groups threads (see attention_walk.cuh).
// Shared memory in 16 bits is dynamic, Bytes of it.
#pragma once
#include "attention_walk.cuh"

namespace reprise {

// The logarithm of how far the largest score of a row may be from its reference.
constexpr float attention_slack = 0x1p+3f;

// log2(x). The error of the first approximation is relative to the result, that of
// its correction is not.
__device__ __forceinline__ float logarithm_of_two(float x) {
  const float y = approximate_logarithm_of_two(x);
  return fused_multiply_add(fused_multiply_add(x, power_of_two(-y), -0x1p+0f), 0x1.715476p+0f, y);
}

// What a warp keeps of 16 queries: sums of values, and for two rows the reference,
// as an exponent of two, and the sums of exponentials that the lane has met.
template <class T, int Value>
struct attention_state {
  static constexpr int parts = attention_width<T, Value> / 8;
  using exchange = attention_exchange<parts * 4 + 4>;
  float sum[parts][4] = {}, reference[2], total[2] = {};

  __device__ __forceinline__ attention_state() { reference[0] = reference[1] = -infinity(); }

  __device__ __forceinline__ void scale(int h, float factor) {
    total[h] *= factor;
#pragma unroll
    for (int n = 0; n < parts; n++) {
      sum[n][2 * h] *= factor;
      sum[n][2 * h + 1] *= factor;
    }
  }

  // Scores, of which the first `valid` columns of the lane's row exist, become
  // exponentials.
  template <int N>
  __device__ __forceinline__ void take(float (&score)[N][4], float factor, int valid) {
    if (valid < 8 * N)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
          if (j * 8 + attention_lane::column() + e % 2 >= valid)
            score[j][e] = -infinity();
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float largest = larger(score[0][2 * h], score[0][2 * h + 1]);
#pragma unroll
      for (int j = 1; j < N; j++)
        largest = larger(largest, larger(score[j][2 * h], score[j][2 * h + 1]));
      largest = larger(largest, shuffle_xor(largest, 1));
      largest = larger(largest, shuffle_xor(largest, 2)) * factor;
      if (largest > reference[h] + attention_slack) {
        scale(h, power_of_two(reference[h] - largest));
        reference[h] = largest;
      }
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; e++) {
          score[j][e] = attention_power<T>(fused_multiply_add(score[j][e], factor, -reference[h]));
          total[h] += score[j][e];
        }
    }
  }

  __device__ __forceinline__ void give(exchange &to) const {
#pragma unroll
    for (int n = 0; n < parts; n++)
#pragma unroll
      for (int e = 0; e < 4; e++)
        to.at(n * 4 + e) = sum[n][e];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      to.at(parts * 4 + h) = reference[h];
      to.at(parts * 4 + 2 + h) = total[h];
    }
  }

  // Adds what another group has met.
  __device__ __forceinline__ void merge(exchange &from) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const float other = from.at(parts * 4 + h), both = larger(reference[h], other), factor = power_of_two(other - both);
      scale(h, power_of_two(reference[h] - both));
      reference[h] = both;
      total[h] = fused_multiply_add(from.at(parts * 4 + 2 + h), factor, total[h]);
#pragma unroll
      for (int n = 0; n < parts; n++)
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; e++)
          sum[n][e] = fused_multiply_add(from.at(n * 4 + e), factor, sum[n][e]);
    }
  }
};

template <class T, class Index, int Key, int Value, bool Vector, int Groups, int Step, int Part, int Stages, int Bytes, uint32_t Alpha>
__device__ __forceinline__ void attention(const reprise_attention_arguments &p) {
  using walk = attention_walk<T, Index, Key, Value, Vector, Groups, Step, Part, Stages>;
  using state = attention_state<T, Value>;
  auto &shared = attention_shared<T, Bytes, attention_memory<walk, typename state::exchange>>();
  const int first = blockIdx.x * attention_block + threadIdx.x / 32 % 4 * 16;
  const attention_rows<T, Index, Key, Vector> queries(attention_matrix<const T, Index>(p.q, p.inner, p.queries), first);
  const walk columns{shared.ring, attention_matrix<const T, Index>(p.k, p.inner, p.keys), attention_matrix<const T, Index>(p.v, p.inner, p.keys)};
  state mine;
  columns.each([&](const auto &keys, const auto &values, int at, int column) {
    float score[Part / 8][4] = {};
    keys.dot(score, queries, at);
    mine.take(score, attention_factor<Alpha>(), p.keys - column);
    values.mix(mine.sum, score, at);
  });
#pragma unroll
  for (int h = 0; h < 2; h++)
    mine.total[h] = attention_row_sum(mine.total[h]);
  attention_merge<Groups>(shared.exchange, [&](auto &to) { mine.give(to); }, [&](auto &from) { mine.merge(from); });
  if (threadIdx.x >= 128)
    return;
  const float share[2] = {divide(0x1p+0f, mine.total[0]), divide(0x1p+0f, mine.total[1])};
  attention_write<false, Value, Vector>(attention_matrix<T, Index>(p.y, p.inner, p.queries), first, mine.sum, share);
  if (threadIdx.x % 4 == 0)
#pragma unroll
    for (int h = 0; h < 2; h++)
      if (const int row = first + attention_lane::row() + h * 8; row < p.queries)
        pointer<float>(p.log_sum)[Index(blockIdx.z) * Index(p.queries) + Index(row)] = (mine.reference[h] + logarithm_of_two(mine.total[h])) * 0x1.62e43p-1f;
}

} // namespace reprise

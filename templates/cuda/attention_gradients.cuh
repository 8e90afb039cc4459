// The gradients of attention, with probabilities computed again from the logarithms
// of their sums.
//
// A first launch gives for each query its logarithm, as an exponent of two, and the
// sum of dY * Y, side by side. A second one makes all gradients: some blocks those
// of 64 keys and their values, which walk over the queries, the others those of 64
// queries, which walk over the keys. Probabilities and the gradients of scores are
// rounded to T between two products.
//
//   kernel                grid                                            block
//   attention_row_sums    queries/32, 1, batch                            256
//   attention_gradients   keys/64 (dK, dV) + queries/64 (dQ), 1, batch    128 * Groups
//
// Shared memory of the second in 16 bits is dynamic, Bytes of it.
#pragma once
#include "attention_walk.cuh"

namespace reprise {

constexpr int attention_row_lanes = 8; // that share the sum of a row

// Whether a gradient is made, and how it is written.
enum gradient_use { unwanted,
                    written,
                    added };

// Rows up to a multiple of 64 have a pair; those that do not exist one that makes
// probabilities zero.
template <class T, class Index, int Value, bool Vector>
__device__ __forceinline__ void attention_row_sums(const reprise_attention_arguments &p) {
  constexpr int V = Vector ? 8 : 1;
  const int row = blockIdx.x * (256 / attention_row_lanes) + threadIdx.x / attention_row_lanes, lane = threadIdx.x % attention_row_lanes;
  const attention_matrix<const T, Index> dy(p.dy, p.inner, p.queries), y(p.y, p.inner, p.queries);
  float sum = 0x0p+0f;
  if (row < p.queries)
#pragma unroll
    for (int i = 0; i < ceiling(Value, V * attention_row_lanes); i++) {
      const int element = (i * attention_row_lanes + lane) * V;
      if (Value % (V * attention_row_lanes) != 0 && element >= Value)
        break;
      float a[V], b[V];
      load<V>(a, dy.template at<Vector>(row, element));
      load<V>(b, y.template at<Vector>(row, element));
#pragma unroll
      for (int v = 0; v < V; v++)
        sum = fused_multiply_add(a[v], b[v], sum);
    }
#pragma unroll
  for (int lanes = 1; lanes < attention_row_lanes; lanes *= 2)
    sum += shuffle_xor(sum, lanes);
  if (lane != 0)
    return;
  const bool exists = row < p.queries;
  const float pair[2] = {exists ? pointer<const float>(p.log_sum)[Index(blockIdx.z) * Index(p.queries) + Index(row)] * 0x1.715476p+0f : infinity(), exists ? sum : 0x0p+0f};
  store<2>(pointer<float>(p.row_sums) + (Index(blockIdx.z) * Index(p.padded) + Index(row)) * 2, pair);
}

// The sums of a gradient that a warp makes of 16 rows.
template <class T, int Width>
struct attention_gradient {
  static constexpr int parts = attention_width<T, Width> / 8;
  float sum[parts][4] = {};

  // All groups' sums, written by the first.
  template <gradient_use Use, bool Vector, int Groups, class Exchange, class Index>
  __device__ __forceinline__ void write(Exchange &exchange, const attention_matrix<T, Index> &to, int first, float factor) {
    attention_merge<Groups>(
        exchange,
        [&](auto &memory) {
#pragma unroll
          for (int i = 0; i < parts * 4; i++)
            memory.at(i) = sum[i / 4][i % 4];
        },
        [&](auto &memory) {
#pragma unroll
          for (int i = 0; i < parts * 4; i++)
            sum[i / 4][i % 4] += memory.at(i);
        });
    const float factors[2] = {factor, factor};
    if (threadIdx.x < 128)
      attention_write<Use == added, Width, Vector>(to, first, sum, factors);
  }
};

// What the blocks of a launch have in common.
template <class T, class Index, int Key, int Value, bool Vector, int Groups, int Step, int Part, int Stages, uint32_t Alpha>
struct attention_gradients_kernel {
  static constexpr int N = Part / 8;
  using walk = attention_walk<T, Index, Key, Value, Vector, Groups, Step, Part, Stages>;
  using exchange = attention_exchange<attention_width<T, larger(Key, Value)> / 2>;
  using memory = attention_memory<walk, exchange>;
  using keys_rows = attention_rows<T, Index, Key, Vector>;
  using values_rows = attention_rows<T, Index, Value, Vector>;

  const reprise_attention_arguments &p;
  memory &shared;
  const int first; // row of the warp

  __device__ __forceinline__ attention_gradients_kernel(const reprise_attention_arguments &p, memory &shared, int block) : p(p), shared(shared), first(block * attention_block + int(threadIdx.x) / 32 % 4 * 16) {}

  template <class E>
  __device__ __forceinline__ attention_matrix<E, Index> matrix(const reprise_tensor &t, int count) const { return attention_matrix<E, Index>(t, p.inner, count); }

  // The pairs of a row and of those after it.
  __device__ __forceinline__ const float *pairs(int row) const { return pointer<const float>(p.row_sums) + (Index(blockIdx.z) * Index(p.padded) + Index(row)) * 2; }

  template <gradient_use UseQ>
  __device__ __forceinline__ void queries() const {
    const keys_rows q(matrix<const T>(p.q, p.queries), first);
    const values_rows dy(matrix<const T>(p.dy, p.queries), first);
    const walk columns{shared.ring, matrix<const T>(p.k, p.keys), matrix<const T>(p.v, p.keys)};
    float pair[2][2];
#pragma unroll
    for (int h = 0; h < 2; h++)
      load<2>(pair[h], pairs(first + attention_lane::row() + h * 8));
    attention_gradient<T, Key> dq;
    columns.each([&](const auto &keys, const auto &values, int at, int column) {
      float score[N][4] = {}, change[N][4] = {};
      keys.dot(score, q, at);
      values.dot(change, dy, at);
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
          score[j][e] = attention_power<T>(fused_multiply_add(score[j][e], attention_factor<Alpha>(), -pair[e / 2][0])) * (change[j][e] - pair[e / 2][1]);
      if (p.keys - column < Part)
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
          for (int e = 0; e < 4; e++)
            if (column + j * 8 + attention_lane::column() + e % 2 >= p.keys)
              score[j][e] = 0x0p+0f;
      keys.mix(dq.sum, score, at);
    });
    dq.template write<UseQ, Vector, Groups>(shared.exchange, matrix<T>(p.dq, p.queries), first, float_from_bits(Alpha));
  }

  template <gradient_use UseK, gradient_use UseV>
  __device__ __forceinline__ void keys() const {
    const keys_rows k(matrix<const T>(p.k, p.keys), first);
    const values_rows v(matrix<const T>(p.v, p.keys), first);
    const walk columns{shared.ring, matrix<const T>(p.q, p.queries), matrix<const T>(p.dy, p.queries)};
    attention_gradient<T, Key> dk;
    attention_gradient<T, Value> dv;
    columns.each([&](const auto &queries, const auto &dy, int at, int column) {
      float pair[N][4]; // of two neighbouring columns
#pragma unroll
      for (int j = 0; j < N; j++)
        load<4>(pair[j], pairs(column + j * 8 + attention_lane::column()));
      float score[N][4] = {};
      queries.dot(score, k, at);
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
          score[j][e] = attention_power<T>(fused_multiply_add(score[j][e], attention_factor<Alpha>(), -pair[j][e % 2 * 2]));
      if constexpr (UseV != unwanted)
        dy.mix(dv.sum, score, at);
      if constexpr (UseK != unwanted) {
        float change[N][4] = {};
        dy.dot(change, v, at);
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
          for (int e = 0; e < 4; e++)
            score[j][e] *= change[j][e] - pair[j][e % 2 * 2 + 1];
        queries.mix(dk.sum, score, at);
      }
    });
    if constexpr (UseK != unwanted)
      dk.template write<UseK, Vector, Groups>(shared.exchange, matrix<T>(p.dk, p.keys), first, float_from_bits(Alpha));
    if constexpr (UseV != unwanted)
      dv.template write<UseV, Vector, Groups>(shared.exchange, matrix<T>(p.dv, p.keys), first, 0x1p+0f);
  }
};

template <class T, class Index, int Key, int Value, bool Vector, int Groups, int Step, int Part, int Stages, int Bytes, uint32_t Alpha, gradient_use UseQ, gradient_use UseK, gradient_use UseV>
__device__ __forceinline__ void attention_gradients(const reprise_attention_arguments &p) {
  using kernel = attention_gradients_kernel<T, Index, Key, Value, Vector, Groups, Step, Part, Stages, Alpha>;
  auto &shared = attention_shared<T, Bytes, typename kernel::memory>();
  const int of_keys = UseK != unwanted || UseV != unwanted ? ceiling(p.keys, attention_block) : 0, block = blockIdx.x;
  if constexpr (UseK != unwanted || UseV != unwanted)
    if (block < of_keys)
      kernel(p, shared, block).template keys<UseK, UseV>();
  if constexpr (UseQ != unwanted)
    if (block >= of_keys)
      kernel(p, shared, block - of_keys).template queries<UseQ>();
}

} // namespace reprise

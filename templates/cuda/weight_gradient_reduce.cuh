// Weight gradients, second pass: the partial sums of many layers in one launch.
//
// A block makes 1024 / L neighbouring weights of one layer. L lanes share the rows
// of partial sums, each thread four weights of a lane; then the lanes are added in
// order, in groups of four: no atomics, so the same bits every time. The plan
// gives each layer its L, 4 to 32 by the number of rows at nominal sizes.
// Grid: weights * L / 1024 of all layers. Block: 256 threads.
#pragma once
#include "types.cuh"

namespace reprise {

// The layer of a block: the last that starts at or before it.
__device__ __forceinline__ int reduce_layer(const reprise_reduce_arguments &p) {
  constexpr int most = int(sizeof(p.entry) / sizeof(p.entry[0]));
  int layer = 0;
#pragma unroll
  for (int step = most / 2; step > 0; step /= 2)
    if (layer + step < p.entries && p.entry[layer + step].first <= int(blockIdx.x))
      layer += step;
  return layer;
}

// Four neighbours of a row; those beyond the last are zero.
template <bool Vector>
__device__ __forceinline__ void load_row(float (&v)[4], const reprise_reduce_entry &e, int item, int row) {
  const float *from = pointer<const float>(e.partial) + (int64_t(row) * e.total + item);
  if constexpr (Vector) {
    load<4>(v, from);
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++)
      v[i] = item + i < e.total ? from[i] : 0x0p+0f;
  }
}

// Sums the rows of a lane, four on their way at a time.
template <bool Vector>
__device__ __forceinline__ void sum_rows(float (&sum)[4], const reprise_reduce_entry &e, int item, int lane) {
  constexpr int together = 4;
  const int lanes = 1 << e.lanes;
  for (int first = lane; first < e.rows; first += together * lanes) {
    float v[together][4] = {};
#pragma unroll
    for (int t = 0; t < together; t++)
      if (first + t * lanes < e.rows)
        load_row<Vector>(v[t], e, item, first + t * lanes);
#pragma unroll
    for (int t = 0; t < together; t++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        sum[i] += v[t][i];
  }
}

// The result lies as the parameter does: [group][Cout][Cin][tap].
__device__ __forceinline__ void write_weight(const reprise_reduce_entry &e, int item, float sum) {
  const int input = item % e.inputs, row = item / e.inputs, output = row % e.outputs, rest = row / e.outputs;
  const int tap = rest % e.taps, group = rest / e.taps;
  float *to = pointer<float>(e.result) + ((group * e.outputs + output) * e.inputs + input) * e.taps + tap;
  *to = e.accumulate ? *to + sum : sum;
}

__device__ __forceinline__ void weight_gradient_reduce(const reprise_reduce_arguments &p) {
  constexpr int threads = 256, together = 4; // lanes of a group
  alignas(16) __shared__ float shared[4 * threads], joined[threads];
  const reprise_reduce_entry &e = p.entry[reduce_layer(p)];
  const int quads = threads >> e.lanes, columns = 4 * quads;
  const int first = (int(blockIdx.x) - e.first) * columns, column = (threadIdx.x & (quads - 1)) * 4, lane = threadIdx.x / quads;
  float sum[4] = {};
  if (first + column < e.total) {
    if (e.total % 4 == 0)
      sum_rows<true>(sum, e, first + column, lane);
    else
      sum_rows<false>(sum, e, first + column, lane);
  }
  store<4>(shared + lane * columns + column, sum);
  __syncthreads();
  const int item = threadIdx.x & (columns - 1), group = threadIdx.x / columns, groups = threads / columns;
  float total = 0x0p+0f;
#pragma unroll
  for (int l = 0; l < together; l++)
    total += shared[(group * together + l) * columns + item];
  joined[threadIdx.x] = total;
  __syncthreads();
  if (group != 0 || first + item >= e.total)
    return;
  for (int g = 1; g < groups; g++)
    total += joined[g * columns + item];
  write_weight(e, first + item, total);
}

} // namespace reprise

// Sums and moments over all pixels, channel by channel, in a fixed order.
//
// Pass 1 gives each block a contiguous span of rows (pixels) and a set of
// channels and leaves one partial result for each; pass 2 merges the partial
// results of a channel. Threads lie as [row lane][channel lane]; lanes merge by
// halving, always the lower with the upper half, so the order never changes.
#pragma once
#include "types.cuh"

namespace reprise {

constexpr int reduce_threads = 256;
constexpr int finish_channels = 8;

struct one_sum {
  float a;
  __device__ __forceinline__ void merge(const one_sum &o) { a += o.a; }
};

struct two_sums {
  float a, b;
  __device__ __forceinline__ void merge(const two_sums &o) {
    a += o.a;
    b += o.b;
  }
};

// Count, mean and sum of squared deviations of a set. Merging two sets keeps
// the digits that a sum of squares would lose when |mean| is far above the
// deviation (Chan, Golub and LeVeque, 1979).
struct moments {
  float count, mean, squares;
  __device__ __forceinline__ void merge(const moments &o) {
    const float total = count + o.count;
    if (total == 0x0p+0f)
      return;
    const float delta = o.mean - mean, share = divide(o.count, total);
    mean = fused_multiply_add(delta, share, mean);
    squares += o.squares + delta * delta * count * share;
    count = total;
  }
};

// Merges part[V] over the row lanes of a block; row lane 0 holds the result.
// shared has room for reduce_threads * V parts.
template <int ChannelLanes, int V, class Part>
__device__ __forceinline__ void merge_rows(Part (&part)[V], Part *shared) {
  const int lane = threadIdx.x / ChannelLanes;
#pragma unroll
  for (int half = reduce_threads / ChannelLanes / 2; half > 0; half /= 2) {
    if (lane >= half && lane < 2 * half)
#pragma unroll
      for (int i = 0; i < V; i++)
        shared[i * reduce_threads + threadIdx.x] = part[i];
    __syncthreads();
    if (lane < half)
#pragma unroll
      for (int i = 0; i < V; i++)
        part[i].merge(shared[i * reduce_threads + threadIdx.x + half * ChannelLanes]);
    __syncthreads();
  }
}

// Pass 2 reads the partial results [row][C] of eight channels with 32 row lanes.
template <int C, class Part>
__device__ __forceinline__ bool finish(Part (&total)[1], uint64_t partial, int rows, int &channel) {
  __shared__ Part shared[reduce_threads];
  channel = blockIdx.x * finish_channels + threadIdx.x % finish_channels;
  const int lane = threadIdx.x / finish_channels;
  total[0] = Part{};
  constexpr int lanes = reduce_threads / finish_channels, together = 4; // loads that do not wait for one another
  if (channel < C)
    for (int r = lane; r < rows; r += lanes * together) {
      Part part[together] = {};
#pragma unroll
      for (int i = 0; i < together; i++)
        if (r + i * lanes < rows)
          part[i] = pointer<const Part>(partial)[int64_t(r + i * lanes) * C + channel];
#pragma unroll
      for (int i = 0; i < together; i++)
        total[0].merge(part[i]);
    }
  merge_rows<finish_channels>(total, shared);
  return lane == 0 && channel < C;
}

// Sum of one map, pass 1.
template <class Index, int Rank, int C, int V, int ChannelLanes, class DY>
__device__ __forceinline__ void channel_sum_partial(const reprise_channel_arguments &p) {
  __shared__ one_sum shared[reduce_threads * V];
  const Index rows = Index(p.extent[0]) * Index(p.extent[1]) * Index(p.extent[2]);
  const int channel = (blockIdx.y * ChannelLanes + threadIdx.x % ChannelLanes) * V;
  const Index begin = Index(blockIdx.x) * Index(p.span), end = smaller(begin + Index(p.span), rows);
  one_sum part[V] = {};
  if (channel < C)
    for (Index row = begin + threadIdx.x / ChannelLanes; row < end; row += reduce_threads / ChannelLanes) {
      float dy[V];
      load<V>(dy, pointer<const DY>(p.dy.data) + row_offset<Index, Rank>(row, p.extent, p.dy.stride) + inner_offset<V>(Index(channel), p.dy.stride));
#pragma unroll
      for (int i = 0; i < V; i++)
        part[i].a += dy[i];
    }
  merge_rows<ChannelLanes>(part, shared);
  if (threadIdx.x < ChannelLanes && channel < C)
#pragma unroll
    for (int i = 0; i < V; i++)
      pointer<one_sum>(p.partial)[int64_t(blockIdx.x) * C + channel + i] = part[i];
}

// Pass 2; the sum goes to dshift.
template <int C, bool Accumulate>
__device__ __forceinline__ void channel_sum_finish(const reprise_channel_arguments &p) {
  one_sum total[1];
  int channel;
  if (finish<C>(total, p.partial, p.rows, channel)) {
    float *to = pointer<float>(p.dshift) + channel;
    *to = Accumulate ? *to + total[0].a : total[0].a;
  }
}

} // namespace reprise

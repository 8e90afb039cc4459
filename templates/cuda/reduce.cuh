// Sums and moments over all pixels, channel by channel, in a fixed order.
//
// Pass 1 gives each block a contiguous span of rows (pixels) and a set of
// channels and leaves one partial result for each; pass 2 merges the partial
// results of a channel. Threads lie as [row lane][channel lane]. Row lanes of a
// warp merge by shuffles, then the warps in order: the order never changes.
#pragma once
#include "types.cuh"

namespace reprise {

constexpr int reduce_threads = 256;
constexpr int finish_channels = 8;
constexpr int finish_lanes = reduce_threads / finish_channels;
// Partial results of a channel that one row lane merges, all loaded at once: a
// reduction has at most finish_lanes * finish_rows of them.
constexpr int finish_rows = 16;

struct one_sum {
  float a;
  __device__ __forceinline__ void merge(const one_sum &o) { a += o.a; }
  __device__ __forceinline__ one_sum from(int lanes) const { return {shuffle_xor(a, lanes)}; }
};

struct alignas(8) two_sums {
  float a, b;
  __device__ __forceinline__ void merge(const two_sums &o) {
    a += o.a;
    b += o.b;
  }
  __device__ __forceinline__ two_sums from(int lanes) const { return {shuffle_xor(a, lanes), shuffle_xor(b, lanes)}; }
};

// Count, mean and sum of squared deviations of a set. Merging two sets keeps
// the digits that a sum of squares would lose when |mean| is far above the
// deviation (Chan, Golub and LeVeque, 1979). It is moved as a whole, 16 bytes.
struct alignas(16) moments {
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
  __device__ __forceinline__ moments from(int lanes) const { return {shuffle_xor(count, lanes), shuffle_xor(mean, lanes), shuffle_xor(squares, lanes)}; }
};

constexpr int reduce_warps = reduce_threads / 32;

// Merges part[V] over the row lanes of a block. Thread t < ChannelLanes * V gets
// the result of the block's channel t. shared has room for reduce_warps *
// ChannelLanes * V parts and may be used again at once.
template <int ChannelLanes, int V, class Part>
__device__ __forceinline__ Part merge_rows(Part (&part)[V], Part *shared) {
  constexpr int channels = ChannelLanes * V;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int lanes = ChannelLanes; lanes < 32; lanes *= 2)
#pragma unroll
    for (int i = 0; i < V; i++) {
      const Part other = part[i].from(lanes);
      part[i].merge(other);
    }
  __syncthreads(); // the results before have been read
  if (lane < ChannelLanes)
#pragma unroll
    for (int i = 0; i < V; i++)
      shared[warp * channels + lane * V + i] = part[i];
  __syncthreads();
  Part total = {};
  if (int(threadIdx.x) < channels)
#pragma unroll
    for (int w = 0; w < reduce_warps; w++)
      total.merge(shared[w * channels + threadIdx.x]);
  return total;
}

// Pass 2 reads the partial results [row][channel] of eight channels with 32 row
// lanes. How many channels there are is an argument, the last extent, so that one
// kernel serves all layers.
template <class Part>
__device__ __forceinline__ void load_partial(Part (&part)[finish_rows], const reprise_channel_arguments &p) {
  const int channels = int(p.extent[3]), channel = blockIdx.x * finish_channels + threadIdx.x % finish_channels;
#pragma unroll
  for (int i = 0; i < finish_rows; i++) {
    const int row = threadIdx.x / finish_channels + i * finish_lanes;
    part[i] = Part{};
    if (row < p.rows && channel < channels)
      part[i] = pointer<const Part>(p.partial)[row * channels + channel];
  }
}

// The sum of the partial results of a channel, for the threads where it is true.
template <class Part>
__device__ __forceinline__ bool finish(Part &total, const reprise_channel_arguments &p, int &channel) {
  __shared__ Part shared[reduce_warps * finish_channels];
  Part part[finish_rows], sum[1] = {};
  load_partial(part, p);
#pragma unroll
  for (int i = 0; i < finish_rows; i++)
    sum[0].merge(part[i]);
  total = merge_rows<finish_channels>(sum, shared);
  channel = blockIdx.x * finish_channels + threadIdx.x;
  return threadIdx.x < finish_channels && channel < int(p.extent[3]);
}

// Leaves the result of each of a block's channels in its row of [block][C].
template <int C, class Part>
__device__ __forceinline__ void store_partial(uint64_t partial, const Part &total, int channels) {
  const int channel = blockIdx.y * channels + threadIdx.x;
  if (int(threadIdx.x) < channels && channel < C)
    pointer<Part>(partial)[int64_t(blockIdx.x) * C + channel] = total;
}

// Sum of one map, pass 1. Pass 2 is in weight_gradient_reduce.cuh.
template <class Index, int Rank, int C, int V, int ChannelLanes, class DY>
__device__ __forceinline__ void channel_sum_partial(const reprise_channel_arguments &p) {
  __shared__ one_sum shared[reduce_warps * ChannelLanes * V];
  const Index rows = Index(p.extent[0]) * Index(p.extent[1]) * Index(p.extent[2]);
  const int channel = (blockIdx.y * ChannelLanes + threadIdx.x % ChannelLanes) * V;
  const Index begin = Index(blockIdx.x) * Index(p.span), end = smaller(begin + Index(p.span), rows);
  one_sum part[V] = {};
  if (channel < C)
    for (Index row = begin + threadIdx.x / ChannelLanes; row < end; row += reduce_threads / ChannelLanes) {
      float dy[V];
      widen<V>(dy, fetch_channels<C, V>(pointer<const DY>(p.dy.data) + row_offset<Index, Rank>(row, p.extent, p.dy.stride) + inner_offset<V>(Index(channel), p.dy.stride), channel));
#pragma unroll
      for (int i = 0; i < V; i++)
        part[i].a += dy[i];
    }
  store_partial<C>(p.partial, merge_rows<ChannelLanes>(part, shared), ChannelLanes * V);
}

} // namespace reprise

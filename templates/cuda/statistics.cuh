// Batch statistics in training, their running averages, and the two sums of
// the gradient of batch normalisation.
#pragma once
#include "normalize.cuh"
#include "reduce.cuh"

namespace reprise {

// Pass 1: each thread takes four rows at a time, forms their exact mean and
// squares, and merges those, so that a division is paid once for four rows.
template <class Index, int Rank, int C, int V, int ChannelLanes, class X>
__device__ __forceinline__ void batch_statistics_partial(const reprise_channel_arguments &p) {
  __shared__ moments shared[reduce_warps * ChannelLanes * V];
  constexpr int step = reduce_threads / ChannelLanes;
  const Index rows = Index(p.extent[0]) * Index(p.extent[1]) * Index(p.extent[2]);
  const int channel = (blockIdx.y * ChannelLanes + threadIdx.x % ChannelLanes) * V;
  const Index begin = Index(blockIdx.x) * Index(p.span), end = smaller(begin + Index(p.span), rows);
  moments part[V] = {};
  if (channel < C)
    for (Index row = begin + threadIdx.x / ChannelLanes; row < end; row += 4 * step) {
      float x[4][V];
      int count = 0;
#pragma unroll
      for (int r = 0; r < 4; r++)
        if (row + r * step < end) {
          widen<V>(x[r], fetch_channels<C, V>(pointer<const X>(p.x.data) + row_offset<Index, Rank>(row + r * step, p.extent, p.x.stride) + inner_offset<V>(Index(channel), p.x.stride), channel));
          count++;
        }
      const float weight = divide(0x1p+0f, float(count));
#pragma unroll
      for (int i = 0; i < V; i++) {
        moments four = {float(count), 0x0p+0f, 0x0p+0f};
#pragma unroll
        for (int r = 0; r < 4; r++)
          four.mean += r < count ? x[r][i] : 0x0p+0f;
        four.mean *= weight;
#pragma unroll
        for (int r = 0; r < 4; r++) {
          const float d = r < count ? x[r][i] - four.mean : 0x0p+0f;
          four.squares = fused_multiply_add(d, d, four.squares);
        }
        part[i].merge(four);
      }
    }
  store_partial<C>(p.partial, merge_rows<ChannelLanes>(part, shared), ChannelLanes * V);
  // The counter moves here and is read in pass 2: no block of one launch reads
  // what another block of the same launch writes.
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0)
    *pointer<int64_t>(p.batches) += 1;
}

// Of moments whose means are counted from one value: how many there are, the sum
// of the differences and the sum of the squares around that value.
struct shifted_sums {
  float count, first, squares;
  __device__ __forceinline__ void merge(const shifted_sums &o) {
    count += o.count;
    first += o.first;
    squares += o.squares;
  }
  __device__ __forceinline__ shifted_sums from(int lanes) const { return {shuffle_xor(count, lanes), shuffle_xor(first, lanes), shuffle_xor(squares, lanes)}; }
};

// Pass 2: mean and 1/sqrt(variance + epsilon), and the running statistics,
// which take the unbiased variance. Everything is counted from the mean of the
// first partial result, so that one round is enough. That is the mean of at least
// one in 512 of all values and so lies within sqrt(512) deviations of the mean of
// all, however far from zero: of the squares around it, at least one part in 512 is
// left when the step to the mean is taken off.
template <uint32_t Epsilon, uint32_t Momentum, bool Cumulative>
__device__ __forceinline__ void batch_statistics_finish(const reprise_channel_arguments &p) {
  __shared__ shifted_sums shared[reduce_warps * finish_channels];
  const int channel = blockIdx.x * finish_channels + threadIdx.x % finish_channels;
  const bool exists = channel < int(p.extent[3]), writes = exists && threadIdx.x < finish_channels;
  // What the end needs is on its way from the start.
  const float shift = exists ? pointer<const moments>(p.partial)[channel].mean : 0x0p+0f;
  moments part[finish_rows];
  load_partial(part, p);
  float *running_mean = pointer<float>(p.running_mean) + channel;
  float *running_variance = pointer<float>(p.running_variance) + channel;
  const float old_mean = writes ? *running_mean : 0x0p+0f, old_variance = writes ? *running_variance : 0x0p+0f;
  const float weight = Cumulative ? divide(0x1p+0f, float(*pointer<const int64_t>(p.batches))) : float_from_bits(Momentum);
  shifted_sums sum[1] = {};
#pragma unroll
  for (int i = 0; i < finish_rows; i++) {
    const float d = part[i].mean - shift, weighted = part[i].count * d;
    sum[0].merge({part[i].count, weighted, fused_multiply_add(weighted, d, part[i].squares)});
  }
  const shifted_sums total = merge_rows<finish_channels>(sum, shared);
  if (!writes)
    return;
  const float step = divide(total.first, total.count), mean = shift + step;
  const float squares = fused_multiply_add(-total.first, step, total.squares);
  pointer<float>(p.mean)[channel] = mean;
  pointer<float>(p.rstd)[channel] = divide(0x1p+0f, square_root(divide(squares, total.count) + float_from_bits(Epsilon)));
  const float unbiased = divide(squares, total.count > 0x1p+0f ? total.count - 0x1p+0f : 0x1p+0f);
  *running_mean = (0x1p+0f - weight) * old_mean + weight * mean;
  *running_variance = (0x1p+0f - weight) * old_variance + weight * unbiased;
}

// What evaluation normalises with. One thread a channel.
template <uint32_t Epsilon>
__device__ __forceinline__ void running_statistics(const reprise_channel_arguments &p) {
  const int channel = blockIdx.x * blockDim.x + threadIdx.x;
  if (channel >= int(p.extent[3]))
    return;
  pointer<float>(p.mean)[channel] = pointer<const float>(p.running_mean)[channel];
  pointer<float>(p.rstd)[channel] = divide(0x1p+0f, square_root(pointer<const float>(p.running_variance)[channel] + float_from_bits(Epsilon)));
}

// Pass 1 of sum g and sum g * xhat. Two rows of both tensors are on their way at
// once; those beyond the span are the last row with a gradient of zero.
template <int A, uint32_t Slope, class Index, int Rank, int C, int V, int ChannelLanes, class DY, class X>
__device__ __forceinline__ void normalize_reduce_partial(const reprise_channel_arguments &p) {
  __shared__ two_sums shared[reduce_warps * ChannelLanes * V];
  constexpr int step = reduce_threads / ChannelLanes, together = 2;
  const Index rows = Index(p.extent[0]) * Index(p.extent[1]) * Index(p.extent[2]);
  const int channel = (blockIdx.y * ChannelLanes + threadIdx.x % ChannelLanes) * V;
  const Index begin = Index(blockIdx.x) * Index(p.span), end = smaller(begin + Index(p.span), rows);
  two_sums part[V] = {};
  if (channel < C) {
    const coefficients<C, V> k(p, channel);
    for (Index row = begin + threadIdx.x / ChannelLanes; row < end; row += together * step) {
      group<X, V> xs[together];
      group<DY, V> dys[together];
#pragma unroll
      for (int r = 0; r < together; r++) {
        const Index at = smaller(row + r * step, end - 1);
        xs[r] = fetch_channels<C, V>(pointer<const X>(p.x.data) + row_offset<Index, Rank>(at, p.extent, p.x.stride) + inner_offset<V>(Index(channel), p.x.stride), channel);
        dys[r] = fetch_channels<C, V>(pointer<const DY>(p.dy.data) + row_offset<Index, Rank>(at, p.extent, p.dy.stride) + inner_offset<V>(Index(channel), p.dy.stride), channel);
      }
#pragma unroll
      for (int r = 0; r < together; r++) {
        const bool exists = row + r * step < end;
        float x[V], dy[V];
        widen<V>(x, xs[r]);
        widen<V>(dy, dys[r]);
#pragma unroll
        for (int i = 0; i < V; i++) {
          const float xhat = k.hat(x[i], i);
          const float g = (exists ? dy[i] : 0x0p+0f) * activate_derivative<A, Slope, X>(k.apply(xhat, i));
          part[i].a += g;
          part[i].b = fused_multiply_add(g, xhat, part[i].b);
        }
      }
    }
  }
  store_partial<C>(p.partial, merge_rows<ChannelLanes>(part, shared), ChannelLanes * V);
}

__device__ __forceinline__ void normalize_reduce_finish(const reprise_channel_arguments &p) {
  two_sums total;
  int channel;
  if (finish(total, p, channel)) {
    pointer<float>(p.dshift)[channel] = total.a;
    pointer<float>(p.dscale)[channel] = total.b;
  }
}

} // namespace reprise

// What the 16-bit kernels of weight gradients share: the walk over their pixels
// through a ring of stages in shared memory, and the sum over warps that share
// the pixels of a stage.
#pragma once
#include "weight_gradient.cuh"

namespace reprise {

// Shared memory, in sums, that join_shares takes for Held sums of a thread.
template <int Shares, int Held>
constexpr int shared_sums = Shares > 1 ? (Shares - 1) * Held *(tile_threads / Shares) : 1;

// Adds what the warps of all shares of the pixels hold to what those of the first
// hold, in order; true for the first.
template <int Shares, class Sums>
__device__ __forceinline__ bool join_shares(int share, Sums &sum, float *shared) {
  if constexpr (Shares > 1) {
    constexpr int threads = tile_threads / Shares, held = int(sizeof(Sums) / sizeof(float));
    float *all = reinterpret_cast<float *>(&sum);
    const int thread = threadIdx.x % threads;
    __syncthreads(); // all have left the ring
    if (share > 0)
#pragma unroll
      for (int i = 0; i < held; i++)
        shared[((share - 1) * held + i) * threads + thread] = all[i];
    __syncthreads();
    if (share == 0)
#pragma unroll
      for (int s = 0; s < Shares - 1; s++)
#pragma unroll
        for (int i = 0; i < held; i++)
          all[i] += shared[(s * held + i) * threads + thread];
  }
  return share == 0;
}

// Brings Side channels of a tile of Height x Width pixels of dY.
template <int Height, int Width, int Side, class T, class Index>
__device__ __forceinline__ void fill_pixels(tile<T, Height * Width, Side> &to, const reprise_weight_gradient_arguments &p, Index n, int y, int x, int channels, int first_channel) {
  constexpr int chunks = Side / chunk<T>;
  const T *from = pointer<const T>(p.dy.data) + n * Index(p.dy.image);
#pragma unroll
  for (int i = 0; i < ceiling(Height * Width * chunks, tile_threads); i++) {
    const int c = threadIdx.x + i * tile_threads, pixel = c / chunks, column = c % chunks * chunk<T>;
    if (Height * Width * chunks % tile_threads != 0 && c >= Height * Width * chunks)
      break;
    const int py = y + pixel / Width, px = x + pixel % Width;
    const int valid = py < p.output_height && px < p.output_width ? smaller(channels - first_channel - column, chunk<T>) : 0;
    bring<true>(to.at(pixel, column), from + (valid > 0 ? Index(py) * Index(p.dy.row) + Index(px) * Index(p.dy.column) + Index(first_channel + column) : 0), valid > 0 ? valid : 0, 1);
  }
}

// The first pass of a kernel whose stages hold the pixels from item first() to
// end(), step() apart.
template <class Kernel, class Index>
__device__ __forceinline__ void sum_pixels(const reprise_weight_gradient_arguments &p) {
  constexpr int stages = Kernel::stages, ahead = stages - 1;
  __shared__ typename Kernel::memory shared;
  Kernel k(p);
  const Index end = k.end(), step = k.step();
  auto fill = [&](Index item, int slot) {
    if (item < end)
      k.fill(shared.ring[slot], item);
    copy_commit();
  };
  Index next = k.first();
#pragma unroll
  for (int s = 0; s < ahead; s++, next += step)
    fill(next, s);
  int slot = 0;
  for (Index item = k.first(); item < end; item += step, next += step) {
    copy_wait<ahead - 1>();
    __syncthreads(); // the stage has arrived for all, and all have left the one before
    fill(next, slot == 0 ? stages - 1 : slot - 1);
    k.accumulate(shared.ring[slot]);
    slot = slot == stages - 1 ? 0 : slot + 1;
  }
  copy_wait<0>();
  if (join_shares<Kernel::shares>(k.share, k.sum, shared.sums))
    k.write();
}

} // namespace reprise

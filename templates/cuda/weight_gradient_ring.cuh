// What the 16-bit kernels of weight gradients share: the walk over their pixels
// through a ring of stages in shared memory, and the sum over warps that share
// the pixels of a stage.
#pragma once
#include "weight_gradient.cuh"

namespace reprise {

// Shared memory, in sums, that join_shares takes for Held sums of a thread.
template <int Threads, int Shares, int Held>
constexpr int shared_sums = Shares > 1 ? (Shares - 1) * Held *(Threads / Shares) : 1;

// Adds what the warps of all shares of the pixels hold to what those of the first
// hold, in order; true for the first.
template <int Threads, int Shares, class Sums>
__device__ __forceinline__ bool join_shares(int share, Sums &sum, float *shared) {
  if constexpr (Shares > 1) {
    constexpr int threads = Threads / Shares, held = int(sizeof(Sums) / sizeof(float));
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

__host__ __device__ constexpr int power_of_two_within(int n) { return n < 2 ? n : 2 * power_of_two_within(n / 2); }

// Offsets between the pixels of an image, which may be negative.
template <class Index>
using signed_index = typename choice<sizeof(Index) == 4, int32_t, int64_t>::type;

// The tiles of Height x Width pixels of dY that a block makes, gridDim.x apart.
// Places advance by carries: divisions would cost as much as the arithmetic.
template <int Height, int Width>
struct tile_walk {
  const int across, down;
  const int step_x, step_y, step_n;
  int x, y, n; // in tiles

  __device__ __forceinline__ explicit tile_walk(const reprise_weight_gradient_arguments &p)
      : across(ceiling(p.output_width, Width)), down(ceiling(p.output_height, Height)), step_x(int(gridDim.x) % across), step_y(int(gridDim.x) / across % down), step_n(int(gridDim.x) / across / down), x(int(blockIdx.x) % across), y(int(blockIdx.x) / across % down), n(int(blockIdx.x) / across / down) {}

  // How many tiles the block makes.
  __device__ __forceinline__ int count(int batch) const {
    const int tiles = batch * down * across;
    return tiles > int(blockIdx.x) ? ceiling(tiles - int(blockIdx.x), int(gridDim.x)) : 0;
  }

  __device__ __forceinline__ void advance() {
    x += step_x;
    y += step_y;
    n += step_n;
    if (x >= across) {
      x -= across;
      y++;
    }
    if (y >= down) {
      y -= down;
      n++;
    }
  }
};

// A thread's share of bringing Rows rows of Width neighbouring pixels, Side channels
// of each: the same column and channels of every few rows, so that addresses advance
// by what is known before.
template <class T, int Threads, int Rows, int Width, int Side>
struct row_share {
  static constexpr int chunks = Side / chunk<T>, across = Width * chunks;
  static constexpr int together = power_of_two_within(Threads / across); // rows
  static_assert(together > 0, "no share of such rows");

  static __device__ __forceinline__ int row() { return threadIdx.x / across; }
  static __device__ __forceinline__ int column() { return threadIdx.x % across / chunks; }
  static __device__ __forceinline__ int channel() { return threadIdx.x % chunks * chunk<T>; }

  // The share begins at `to` in shared memory, whose rows lie Pitch bytes apart, and
  // at `from`, where `step` leads `together` rows on. first is the number of its
  // first row, of which those below end exist; bytes is 0 for columns or channels
  // that do not. Leaves in `from` where the rows after these begin.
  template <int Pitch>
  static __device__ __forceinline__ void bring(uint32_t to, const T *&from, int64_t step, int first, int end, int bytes) {
    if (across * together < Threads && row() >= together)
      return;
#pragma unroll
    for (int i = 0; i < ceiling(Rows, together); i++) {
      if (Rows % together != 0 && i == Rows / together && row() >= Rows % together)
        break;
      copy_async_16(to + i * together * Pitch, from, uint32_t(first + i * together) < uint32_t(end) ? bytes : 0);
      from += step;
    }
  }
};

// Bytes of the chunk from a channel on that exist, of Channels.
template <class T, int Channels>
__device__ __forceinline__ int chunk_bytes(int channel) {
  if constexpr (Channels % chunk<T> == 0)
    return channel < Channels ? 16 : 0;
  return larger(0, smaller(Channels - channel, chunk<T>)) * int(sizeof(T));
}

// The first pass of a kernel whose blocks bring steps() stages, one after the other.
// Stages are named by where they begin in the ring, in bytes.
template <class Kernel, class Memory>
__device__ __forceinline__ void sum_pixels(const reprise_weight_gradient_arguments &p, Memory &shared) {
  constexpr int stages = Kernel::stages, ahead = stages - 1;
  constexpr uint32_t bytes = sizeof(typename Kernel::stage), last = ahead * bytes;
  Kernel k(p, shared.ring[0]);
  const int steps = k.steps();
  auto fill = [&](int step, uint32_t at) {
    if (step < steps)
      k.fill(at);
    copy_commit();
  };
#pragma unroll
  for (int s = 0; s < ahead; s++)
    fill(s, s * bytes);
  uint32_t at = 0;
  for (int step = 0; step < steps; step++) {
    copy_wait<ahead - 1>();
    __syncthreads(); // the stage has arrived for all, and all have left the one before
    fill(step + ahead, at == 0 ? last : at - bytes);
    k.accumulate(at);
    at = at == last ? 0 : at + bytes;
  }
  copy_wait<0>();
  if (join_shares<Kernel::threads, Kernel::shares>(k.share, k.sum, shared.sums))
    k.write();
}

} // namespace reprise

// Kernels for tests of the simulator: sound ones, and one for each kind of fault.
#include <stdint.h>

// Everything that plain C++ cannot say
namespace reprise {
} // namespace reprise

using namespace reprise;

#define REPRISE_NAME(name) name

struct argument {
  uint64_t from, to;
  int64_t n;
};

__device__ __forceinline__ float *at(uint64_t address) { return reinterpret_cast<float *>(address); }

extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(iota)(const __grid_constant__ argument p) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.n)
    at(p.to)[i] = float(i);
}

extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(copy)(const __grid_constant__ argument p) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.n)
    at(p.to)[i] = at(p.from)[i];
}

extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(add_one)(const __grid_constant__ argument p) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.n)
    at(p.to)[i] += 1.0f;
}

// Sums a block through shared memory, in the order of the halving.
template <bool Barrier>
__device__ __forceinline__ void sum_block(const argument &p) {
  __shared__ float part[128];
  part[threadIdx.x] = at(p.from)[threadIdx.x];
  for (int half = 64; half > 0; half /= 2) {
    if constexpr (Barrier)
      __syncthreads();
    if (threadIdx.x < half)
      part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0)
    at(p.to)[0] = part[0];
}

extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(sum)(const __grid_constant__ argument p) {
  sum_block<true>(p);
}

extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(sum_without_barrier)(const __grid_constant__ argument p) {
  sum_block<false>(p);
}

extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(sum_of_warp)(const __grid_constant__ argument p) {
  float x = at(p.from)[threadIdx.x];
  for (int lanes = 16; lanes > 0; lanes /= 2)
    x += shuffle_xor(x, lanes);
  at(p.to)[threadIdx.x] = x;
}

extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(past_the_end)(const __grid_constant__ argument p) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= p.n)
    at(p.to)[i] = float(i);
}

extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(blocks_meet)(const __grid_constant__ argument p) {
  const int64_t i = blockIdx.x * (blockDim.x - 1) + threadIdx.x; // the next block begins with the last element
  if (i < p.n)
    at(p.to)[i] = float(i);
}

extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(misaligned)(const __grid_constant__ argument p) {
  if (threadIdx.x == 0)
    *reinterpret_cast<uint64_t *>(p.to + 4) = 0;
}

extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(barrier_of_half)(const __grid_constant__ argument p) {
  if (threadIdx.x < 64)
    return;
  __syncthreads();
  at(p.to)[threadIdx.x] = 0.0f;
}

extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(warp_of_half)(const __grid_constant__ argument p) {
  if (threadIdx.x % 2 == 0)
    at(p.to)[threadIdx.x] = shuffle_xor(1.0f, 1);
}

extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(shared_past_the_end)(const __grid_constant__ argument p) {
  __shared__ float small[3];
  float *s = small;
  s[threadIdx.x % 3] = 0.0f;
  if (threadIdx.x == 0)
    s[p.n] = 1.0f;
}

// Brings 16 bytes through shared memory; n = 1 waits for them, n = 0 does not.
extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(asynchronous)(const __grid_constant__ argument p) {
  alignas(16) __shared__ float tile[4 * 128];
  copy_async_16(shared_address(tile + 4 * threadIdx.x), at(p.from) + 4 * threadIdx.x, 16);
  copy_commit();
  if (p.n == 1)
    copy_wait<0>();
  at(p.to)[threadIdx.x] = tile[4 * threadIdx.x];
  copy_wait<0>();
}

// Dynamic shared memory, the last of n elements included; n = 0 is 128.
extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(dynamic)(const __grid_constant__ argument p) {
  extern __shared__ float space[];
  space[threadIdx.x] = float(threadIdx.x);
  if (p.n > 128 && threadIdx.x == 0)
    space[p.n - 1] = 1.0f;
  __syncthreads();
  at(p.to)[threadIdx.x] = space[127 - threadIdx.x];
}

// Adds one like add_one, after the launch before.
extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(add_one_after)(const __grid_constant__ argument p) {
  wait_for_launch_before();
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.n)
    at(p.to)[i] += 1.0f;
}

// Does not wait in the threads that have nothing to do.
extern "C" __global__ void __launch_bounds__(128) REPRISE_NAME(some_after)(const __grid_constant__ argument p) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n)
    return;
  wait_for_launch_before();
  at(p.to)[i] += 1.0f;
}

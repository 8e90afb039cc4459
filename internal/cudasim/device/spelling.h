// The spelling of CUDA C for a C++ compiler: keywords and built-in variables.
#pragma once
#include "abi.h"

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __syncthreads() cudasim_barrier()

// The compiler reports memory accesses of kernels to the simulator; those of
// the built-in variables are none. It does not look into assembly.
template <unsigned cudasim_index::*Axis, cudasim_index cudasim_builtins::*Of>
struct cudasim_axis {
  __attribute__((always_inline)) operator unsigned() const {
    unsigned value;
    asm("movl %1, %0" : "=r"(value) : "m"(cudasim_now.*Of.*Axis));
    return value;
  }
};
template <cudasim_index cudasim_builtins::*Of>
struct cudasim_variable {
  cudasim_axis<&cudasim_index::x, Of> x;
  cudasim_axis<&cudasim_index::y, Of> y;
  cudasim_axis<&cudasim_index::z, Of> z;
};

static const cudasim_variable<&cudasim_builtins::thread> threadIdx;
static const cudasim_variable<&cudasim_builtins::block> blockIdx;
static const cudasim_variable<&cudasim_builtins::block_extent> blockDim;
static const cudasim_variable<&cudasim_builtins::grid_extent> gridDim;

alignas(16) static char cudasim_dynamic[cudasim_most_dynamic];
inline void *cudasim_dynamic_shared() { return cudasim_dynamic; }

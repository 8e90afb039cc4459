// The spelling of CUDA C for compilers that come without a CUDA toolkit.
//
// clang compiles device code to PTX by itself, but the keywords and built-in
// variables of CUDA are defined by the toolkit's headers. Defining the few that
// the kernels use lets any machine check them. Under nvcc and NVRTC, which
// define them all, this file is empty.
#pragma once
#if defined(__clang__) && defined(__CUDA__) && !defined(__NVCC__) && !defined(__CUDACC_RTC__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __grid_constant__
struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
};
#include <__clang_cuda_builtin_vars.h>
#endif

// A program that ends with a context, memory and streams that it never gave back.
#include <cuda.h>

#include <stdio.h>

static int failed(CUresult r, const char *call) {
  if (r != CUDA_SUCCESS)
    fprintf(stderr, "%s returned %d\n", call, r);
  return r != CUDA_SUCCESS;
}

int main(void) {
  CUdevice device;
  CUcontext context;
  if (failed(cuInit(0), "cuInit") || failed(cuDeviceGet(&device, 0), "cuDeviceGet") ||
      failed(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain") || failed(cuCtxSetCurrent(context), "cuCtxSetCurrent"))
    return 1;
  for (int i = 0; i < 100; i++) {
    CUdeviceptr memory;
    CUstream stream;
    if (failed(cuMemAlloc(&memory, 1000), "cuMemAlloc") || failed(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"))
      return 1;
  }
  return 0;
}

// clang-format off
//go:build cuda
// clang-format on

#define _GNU_SOURCE
#include "reprise_driver.h"

#include <dlfcn.h>

static CUresult init_status = CUDA_ERROR_NOT_INITIALIZED;

// gorgonia.org/cu initialises the driver before main and ends the process when
// that fails, so a machine without a device could not even show a message. The
// linker prefers this definition to the driver's: it remembers the answer for
// the back end to report and says that all is well. Nothing that needs a device
// is called after a failure.
CUresult CUDAAPI cuInit(unsigned int flags) {
  CUresult (*driver)(unsigned int);
  *(void **)&driver = dlsym(RTLD_NEXT, "cuInit");
  init_status = driver == NULL ? CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND : driver(flags);
  return CUDA_SUCCESS;
}

CUresult reprise_init_status(void) { return init_status; }

const char *reprise_status_name(CUresult status) {
  const char *name = NULL;
  return cuGetErrorName(status, &name) == CUDA_SUCCESS && name != NULL ? name : "unknown CUDA error";
}

const char *reprise_status_text(CUresult status) {
  const char *text = NULL;
  return cuGetErrorString(status, &text) == CUDA_SUCCESS && text != NULL ? text : "";
}

CUresult reprise_allow_shared(CUfunction kernel, int bytes) { return cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes); }

CUresult reprise_pinned_allocate(void **memory, size_t bytes) { return cuMemHostAlloc(memory, bytes, 0); }

CUresult reprise_pinned_free(void *memory) { return cuMemFreeHost(memory); }

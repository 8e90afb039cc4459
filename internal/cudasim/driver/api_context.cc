// Entry points: initialisation, devices, contexts, errors.
#include "../device/abi.h"
#include "call.h"
#include "fault.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace cudasim;

namespace {

int device_count() {
  const char *set = getenv("CUDASIM_DEVICES");
  return set != nullptr ? atoi(set) : 1;
}

// What the driver says to be: recordings keep early starts, as from CUDA 12.3 on.
constexpr int simulated_version = 12030;

// "9.0" unless CUDASIM_CAPABILITY says otherwise.
void capability(int *major, int *minor) {
  const char *set = getenv("CUDASIM_CAPABILITY");
  if (set == nullptr || sscanf(set, "%d.%d", major, minor) != 2) {
    *major = 9;
    *minor = 0;
  }
}

std::shared_ptr<Context> primary;
int primary_uses;

std::shared_ptr<Context> make_context(unsigned flags) {
  if (!reserve_device_memory())
    return nullptr;
  auto c = std::make_shared<Context>();
  c->flags = flags;
  c->legacy.context = c.get();
  c->legacy.blocking = true;
  contexts.insert(c);
  return c;
}

CUresult release_context(const char *name, Context *c) {
  const std::string held = holdings(c);
  if (!held.empty())
    report(text("%s: the context still holds %s", name, held.c_str()));
  destroy_context(c);
  return CUDA_SUCCESS;
}

struct Named {
  CUresult status;
  const char *name, *text;
};

const Named named[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream"},
    {CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const Named *find_name(CUresult r) {
  auto i = std::find_if(std::begin(named), std::end(named), [&](const Named &n) { return n.status == r; });
  return i == std::end(named) ? nullptr : i;
}

} // namespace

extern "C" {

CUresult CUDAAPI cuInit(unsigned flags) {
  return call("cuInit", initialises, [&] {
    if (flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (device_count() == 0)
      return CUDA_ERROR_NO_DEVICE;
    initialised = true;
    watch_exit();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDriverGetVersion(int *version) {
  return call("cuDriverGetVersion", initialises, [&] {
    *version = simulated_version;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGetErrorName(CUresult r, const char **name) {
  const Named *n = find_name(r);
  *name = n != nullptr ? n->name : nullptr;
  return n != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult r, const char **string) {
  const Named *n = find_name(r);
  *string = n != nullptr ? n->text : nullptr;
  return n != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDeviceGetCount(int *count) {
  return call("cuDeviceGetCount", anywhere, [&] {
    *count = device_count();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal) {
  return call("cuDeviceGet", anywhere, [&] {
    if (ordinal < 0 || ordinal >= device_count())
      return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice) {
  return call("cuDeviceGetName", anywhere, [&] {
    snprintf(name, size_t(length), "simulated CUDA device");
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
  return call("cuDeviceTotalMem", anywhere, [&] {
    *bytes = memory_total();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
  return call("cuDeviceGetAttribute", anywhere, [&] {
    int major, minor;
    capability(&major, &minor);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = major;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = minor;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 4;
      break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      *value = 48 << 10;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = cudasim_most_dynamic;
      break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
      *value = 0;
      break;
    default:
      report(text("cuDeviceGetAttribute: attribute %d is not simulated", int(attribute)));
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
  return call("cuCtxCreate", never_captured, [&] {
    if (device < 0 || device >= device_count())
      return CUDA_ERROR_INVALID_DEVICE;
    const auto c = make_context(flags);
    if (c == nullptr)
      return CUDA_ERROR_OUT_OF_MEMORY;
    *context = handle_of(c.get());
    bound.push_back(*context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext context) {
  return call("cuCtxDestroy", releases, [&] {
    const auto c = context_of(context);
    if (c == nullptr)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (!bound.empty() && bound.back() == context)
      bound.pop_back();
    return release_context("cuCtxDestroy", c.get());
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  return call("cuDevicePrimaryCtxRetain", never_captured, [&] {
    if (device < 0 || device >= device_count())
      return CUDA_ERROR_INVALID_DEVICE;
    if (primary == nullptr)
      primary = make_context(0);
    if (primary == nullptr)
      return CUDA_ERROR_OUT_OF_MEMORY;
    primary->primary = true;
    primary_uses++;
    *context = handle_of(primary.get());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice) {
  return call("cuDevicePrimaryCtxRelease", releases, [&] {
    if (primary == nullptr)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary_uses > 0)
      return CUDA_SUCCESS;
    const auto c = std::move(primary);
    return release_context("cuDevicePrimaryCtxRelease", c.get());
  });
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  return call("cuCtxSetCurrent", anywhere, [&] {
    if (context != nullptr && context_of(context) == nullptr)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (!bound.empty())
      bound.pop_back();
    if (context != nullptr)
      bound.push_back(context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext context) {
  return call("cuCtxPushCurrent", anywhere, [&] {
    if (context_of(context) == nullptr)
      return CUDA_ERROR_INVALID_CONTEXT;
    bound.push_back(context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *context) {
  return call("cuCtxPopCurrent", anywhere, [&] {
    if (bound.empty())
      return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr)
      *context = bound.back();
    bound.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context) {
  return call("cuCtxGetCurrent", anywhere, [&] {
    *context = current_handle();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device) {
  return call("cuCtxGetDevice", in_context, [&] {
    *device = 0;
    return CUDA_SUCCESS;
  });
}

// The whole device is waited for, so a capture of any thread and mode breaks.
CUresult CUDAAPI cuCtxSynchronize(void) {
  return call("cuCtxSynchronize", in_context, [&] {
    const auto c = current();
    for (auto &capture : captures)
      if (capture->origin->context == c.get()) {
        report("cuCtxSynchronize: not allowed while a stream is capturing; the capture is broken");
        capture->broken = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      }
    return finish_context(c.get());
  });
}
}

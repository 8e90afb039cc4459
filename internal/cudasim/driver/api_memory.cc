// Entry points: memory and copies.
#include "call.h"

#include <cstring>

using namespace cudasim;

namespace {

enum Direction { to_device,
                 to_host,
                 within };

// Checks the device side of a copy when it runs, and reports.
bool legal(const char *name, uintptr_t address, size_t bytes, const char *does) {
  if (inside(address, bytes))
    return true;
  lose(running, CUDA_ERROR_ILLEGAL_ADDRESS, text("%s: %s %zu bytes at %s", name, does, bytes, describe(address).c_str()));
  return false;
}

CUresult copy_now(const char *name, void *to, const void *from, size_t bytes, Direction d) {
  const auto target = reinterpret_cast<uintptr_t>(to), source = reinterpret_cast<uintptr_t>(from);
  if (d != to_device && !legal(name, source, bytes, "reads"))
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (d != to_host && !legal(name, target, bytes, "writes"))
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (d == to_host && has(undefined, source, bytes))
    report(text("%s: reads %zu bytes of which some were never written, at %s", name, bytes, describe(source).c_str()));
  memmove(to, from, bytes);
  if (d == to_device)
    set_state(target, bytes, defined);
  else if (d == within)
    memmove(states(target), states(source), bytes);
  return CUDA_SUCCESS;
}

// A copy on a stream. Pageable memory is read at once and written before the
// call returns; page-locked memory only when the stream gets there.
CUresult copy(const char *name, CUstream handle, void *to, const void *from, size_t bytes, Direction d) {
  Stream *s;
  std::shared_ptr<Stream> keep;
  if (const CUresult r = find_stream(handle, name, &s, &keep); r != CUDA_SUCCESS)
    return r;
  Operation o;
  o.name = name;
  const void *host = d == to_device ? from : to;
  const bool pinned = d == within || is_pinned(host, bytes);
  std::shared_ptr<std::string> staged;
  if (d == to_device && !pinned) {
    staged = std::make_shared<std::string>(static_cast<const char *>(from), bytes);
    o.run = [=] { return copy_now(name, to, staged->data(), bytes, d); };
  } else {
    o.run = [=] { return copy_now(name, to, from, bytes, d); };
  }
  if (d != within && pinned) {
    o.host = host;
    o.host_bytes = bytes;
  }
  const bool wait = d == to_host && !pinned;
  if (wait && s->capture != nullptr)
    return break_capture(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  const CUresult r = enqueue(s, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(o));
  return r == CUDA_SUCCESS && wait ? finish_stream(s) : r;
}

// A copy that the caller waits for, on the legacy stream.
CUresult copy_and_wait(const char *name, void *to, const void *from, size_t bytes, Direction d) {
  const CUresult r = copy(name, nullptr, to, from, bytes, d);
  return r == CUDA_SUCCESS ? finish_stream(&current()->legacy) : r;
}

template <class T>
CUresult fill_now(const char *name, uintptr_t address, T value, size_t count) {
  if (!legal(name, address, count * sizeof(T), "writes"))
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  auto *p = reinterpret_cast<T *>(address);
  for (size_t i = 0; i < count; i++)
    p[i] = value;
  set_state(address, count * sizeof(T), sizeof(T) == 1 && value == T(0xff) ? poisoned : defined);
  return CUDA_SUCCESS;
}

template <class T>
CUresult fill(const char *name, CUstream handle, CUdeviceptr address, T value, size_t count) {
  Stream *s;
  std::shared_ptr<Stream> keep;
  if (address % sizeof(T) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = find_stream(handle, name, &s, &keep); r != CUDA_SUCCESS)
    return r;
  Operation o;
  o.name = name;
  o.run = [=] { return fill_now(name, uintptr_t(address), value, count); };
  return enqueue(s, CU_GRAPH_NODE_TYPE_MEMSET, std::move(o));
}

template <class T>
CUresult fill_call(const char *name, CUdeviceptr address, T value, size_t count) {
  return call(name, in_context | never_captured, [&] { return fill(name, nullptr, address, value, count); });
}

template <class T>
CUresult fill_async_call(const char *name, CUdeviceptr address, T value, size_t count, CUstream s) {
  return call(name, in_context, [&] { return fill(name, s, address, value, count); });
}

void *pointer(CUdeviceptr p) { return reinterpret_cast<void *>(uintptr_t(p)); }

} // namespace

extern "C" {

CUresult CUDAAPI cuMemGetInfo_v2(size_t *unused, size_t *total) {
  return call("cuMemGetInfo", in_context, [&] {
    *total = memory_total();
    *unused = *total - memory_used();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  return call("cuMemAlloc", in_context | never_captured, [&] {
    if (bytes == 0)
      return CUDA_ERROR_INVALID_VALUE;
    const uintptr_t p = allocate(current().get(), bytes, "cuMemAlloc");
    if (p == 0)
      return CUDA_ERROR_OUT_OF_MEMORY;
    *address = p;
    return CUDA_SUCCESS;
  });
}

// Freed memory is gone at once: work that has not been waited for and still
// uses it is the caller's fault, and is reported when it runs.
CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address) {
  return call("cuMemFree", in_context | never_captured | releases, [&] {
    if (address == 0 || release(uintptr_t(address)))
      return current()->lost;
    report(text("cuMemFree: not the start of an allocation: %s", describe(uintptr_t(address)).c_str()));
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
  return call("cuMemGetAddressRange", in_context, [&] {
    uintptr_t b;
    size_t n;
    if (!allocation_of(uintptr_t(address), &b, &n))
      return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr)
      *base = b;
    if (bytes != nullptr)
      *bytes = n;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  return call("cuMemHostAlloc", in_context | never_captured, [&] {
    *memory = allocate_pinned(current().get(), bytes);
    return *memory != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

CUresult CUDAAPI cuMemAllocHost_v2(void **memory, size_t bytes) { return cuMemHostAlloc(memory, bytes, 0); }

CUresult CUDAAPI cuMemFreeHost(void *memory) {
  return call("cuMemFreeHost", in_context | never_captured | releases, [&] {
    const std::string user = pending_on_host(memory, 1);
    if (!user.empty() && current()->lost == CUDA_SUCCESS)
      report(text("cuMemFreeHost: %s has not happened yet and uses the memory", user.c_str()));
    return release_pinned(memory) ? current()->lost : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return call("cuMemcpyHtoD", in_context | never_captured, [&] { return copy_and_wait("cuMemcpyHtoD", pointer(to), from, bytes, to_device); });
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return call("cuMemcpyDtoH", in_context | never_captured, [&] { return copy_and_wait("cuMemcpyDtoH", to, pointer(from), bytes, to_host); });
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return call("cuMemcpyDtoD", in_context | never_captured, [&] { return copy("cuMemcpyDtoD", nullptr, pointer(to), pointer(from), bytes, within); });
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream s) {
  return call("cuMemcpyHtoDAsync", in_context, [&] { return copy("cuMemcpyHtoDAsync", s, pointer(to), from, bytes, to_device); });
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream s) {
  return call("cuMemcpyDtoHAsync", in_context, [&] { return copy("cuMemcpyDtoHAsync", s, to, pointer(from), bytes, to_host); });
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s) {
  return call("cuMemcpyDtoDAsync", in_context, [&] { return copy("cuMemcpyDtoDAsync", s, pointer(to), pointer(from), bytes, within); });
}

CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr to, unsigned char v, size_t n) { return fill_call("cuMemsetD8", to, v, n); }
CUresult CUDAAPI cuMemsetD16_v2(CUdeviceptr to, unsigned short v, size_t n) { return fill_call("cuMemsetD16", to, v, n); }
CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr to, unsigned v, size_t n) { return fill_call("cuMemsetD32", to, v, n); }
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char v, size_t n, CUstream s) { return fill_async_call("cuMemsetD8Async", to, v, n, s); }
CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr to, unsigned short v, size_t n, CUstream s) { return fill_async_call("cuMemsetD16Async", to, v, n, s); }
CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr to, unsigned v, size_t n, CUstream s) { return fill_async_call("cuMemsetD32Async", to, v, n, s); }
}

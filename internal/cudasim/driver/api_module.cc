// Entry points: modules, functions, launches.
#include "block.h"
#include "call.h"
#include "image.h"

#include <cstring>

using namespace cudasim;

namespace {

CUresult load(CUmodule *module, const void *data) {
  std::shared_ptr<Image> image;
  if (const CUresult r = load_image(data, &image); r != CUDA_SUCCESS)
    return r;
  auto m = std::make_shared<Module>();
  m->context = current().get();
  m->image = std::move(image);
  *module = modules.add<CUmodule>(std::move(m));
  return CUDA_SUCCESS;
}

CUresult check_launch(const Function &f, const Grid &g) {
  const auto fits = [](const cudasim_index &i, unsigned x, unsigned y, unsigned z) {
    return i.x > 0 && i.y > 0 && i.z > 0 && i.x <= x && i.y <= y && i.z <= z;
  };
  if (!fits(g.blocks, 2147483647, 65535, 65535) || !fits(g.threads, 1024, 1024, 64))
    return CUDA_ERROR_INVALID_VALUE;
  if (uint64_t(g.threads.x) * g.threads.y * g.threads.z > f.kernel->most_threads) {
    report(text("kernel %s: launched with more threads than its launch bounds", f.kernel->name));
    return CUDA_ERROR_INVALID_VALUE;
  }
  return g.dynamic_bytes <= unsigned(f.dynamic_limit) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult launch(const std::shared_ptr<Function> &f, const Grid &g, CUstream stream, void **parameters, const char *call) {
  Stream *s;
  std::shared_ptr<Stream> keep;
  if (f == nullptr)
    return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult r = check_launch(*f, g); r != CUDA_SUCCESS)
    return r;
  if (const CUresult r = find_stream(stream, call, &s, &keep); r != CUDA_SUCCESS)
    return r;
  if (s->context != f->context)
    return CUDA_ERROR_INVALID_HANDLE;
  const std::string argument(static_cast<const char *>(parameters[0]), f->kernel->argument_bytes);
  Operation o;
  o.name = f->kernel->name;
  o.run = [image = f->image, kernel = f->kernel, argument, g] { return run_kernel(*image, *kernel, argument, g); };
  return enqueue(s, CU_GRAPH_NODE_TYPE_KERNEL, std::move(o));
}

// Reads the attributes of a launch: only early starts are simulated.
CUresult read_attributes(const CUlaunchConfig &config, Grid *g) {
  for (unsigned i = 0; i < config.numAttrs; i++) {
    const CUlaunchAttribute &a = config.attrs[i];
    if (a.id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      report(text("cuLaunchKernelEx: attribute %d is not simulated", int(a.id)));
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    g->early = a.value.programmaticStreamSerializationAllowed != 0;
  }
  return CUDA_SUCCESS;
}

} // namespace

extern "C" {

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *data) {
  return call("cuModuleLoadData", in_context | never_captured, [&] { return load(module, data); });
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *data, unsigned, CUjit_option *, void **) {
  return call("cuModuleLoadDataEx", in_context | never_captured, [&] { return load(module, data); });
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  return call("cuModuleUnload", in_context | never_captured | releases, [&] {
    if (modules.find(module, "cuModuleUnload") == nullptr)
      return CUDA_ERROR_INVALID_HANDLE;
    modules.remove(module);
    return current()->lost;
  });
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  return call("cuModuleGetFunction", in_context, [&] {
    const auto m = modules.find(module, "cuModuleGetFunction");
    if (m == nullptr)
      return CUDA_ERROR_INVALID_HANDLE;
    const cudasim_kernel *k = m->image->find(name);
    if (k == nullptr)
      return CUDA_ERROR_NOT_FOUND;
    auto f = std::make_shared<Function>();
    f->context = m->context;
    f->image = m->image;
    f->kernel = k;
    *function = functions.add<CUfunction>(std::move(f));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  return call("cuFuncGetAttribute", in_context, [&] {
    const auto f = functions.find(function, "cuFuncGetAttribute");
    if (f == nullptr)
      return CUDA_ERROR_INVALID_HANDLE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = int(f->kernel->most_threads);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = f->dynamic_limit;
      return CUDA_SUCCESS;
    default:
      report(text("cuFuncGetAttribute: attribute %d is not simulated", int(attribute)));
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  });
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return call("cuFuncSetAttribute", in_context, [&] {
    const auto f = functions.find(function, "cuFuncSetAttribute");
    if (f == nullptr)
      return CUDA_ERROR_INVALID_HANDLE;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > cudasim_most_dynamic)
      return CUDA_ERROR_INVALID_VALUE;
    f->dynamic_limit = value;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz, unsigned dynamic, CUstream stream, void **parameters, void **extra) {
  return call("cuLaunchKernel", in_context, [&] {
    if (parameters == nullptr || extra != nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    return launch(functions.find(function, "cuLaunchKernel"), Grid{{x, y, z}, {tx, ty, tz}, dynamic}, stream, parameters, "cuLaunchKernel");
  });
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
  return call("cuLaunchKernelEx", in_context, [&] {
    if (config == nullptr || parameters == nullptr || extra != nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    const auto &c = *config;
    Grid g{{c.gridDimX, c.gridDimY, c.gridDimZ}, {c.blockDimX, c.blockDimY, c.blockDimZ}, c.sharedMemBytes};
    if (const CUresult r = read_attributes(c, &g); r != CUDA_SUCCESS)
      return r;
    return launch(functions.find(function, "cuLaunchKernelEx"), g, c.hStream, parameters, "cuLaunchKernelEx");
  });
}
}

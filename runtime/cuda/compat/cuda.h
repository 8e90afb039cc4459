// Lets gorgonia.org/cu v0.9.6, which was written for older toolkits, compile
// against the headers of CUDA 13: five functions that it calls changed their
// parameters there, while the driver still exports the old forms. The folder of
// this file must come before the toolkit's in the search path. With an older
// toolkit the file changes nothing.
#ifndef REPRISE_COMPAT_CUDA_H
#define REPRISE_COMPAT_CUDA_H
#include_next <cuda.h>

#if CUDA_VERSION >= 13000
#ifdef __cplusplus
extern "C" {
#endif

#undef cuCtxCreate
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuGraphAddDependencies
#undef cuGraphGetEdges
#define cuCtxCreate cuCtxCreate_v2

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);
CUresult CUDAAPI cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device);
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream);
CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count);
CUresult CUDAAPI cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
#endif

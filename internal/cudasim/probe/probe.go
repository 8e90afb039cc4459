//go:build cuda

// Package probe calls the CUDA driver as plainly as C does, for tests of its
// rules: every function returns the status of one call.
package probe

// #cgo LDFLAGS: -lcuda
// #include <cuda.h>
// #include <stdlib.h>
//
// static CUresult launch(CUfunction f, unsigned blocks, unsigned threads, unsigned dynamic, CUstream s, void *argument) {
//   void *parameters[] = {argument};
//   return cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, dynamic, s, parameters, NULL);
// }
//
// static CUresult launch_early(CUfunction f, unsigned blocks, unsigned threads, CUstream s, void *argument) {
//   void *parameters[] = {argument};
//   CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, .value.programmaticStreamSerializationAllowed = 1};
//   const CUlaunchConfig config = {.gridDimX = blocks, .gridDimY = 1, .gridDimZ = 1, .blockDimX = threads, .blockDimY = 1, .blockDimZ = 1, .hStream = s, .attrs = &early, .numAttrs = 1};
//   return cuLaunchKernelEx(&config, f, parameters, NULL);
// }
import "C"

import (
	"unsafe"

	"github.com/reprise-ml/reprise/internal/cudasim"
)

// Handles of the driver.
type (
	Context  = C.CUcontext
	Stream   = C.CUstream
	Event    = C.CUevent
	Module   = C.CUmodule
	Function = C.CUfunction
	Graph    = C.CUgraph
	Exec     = C.CUgraphExec
	Address  = C.CUdeviceptr
)

// Modes of capture.
const (
	Global      = int(C.CU_STREAM_CAPTURE_MODE_GLOBAL)
	ThreadLocal = int(C.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
	Relaxed     = int(C.CU_STREAM_CAPTURE_MODE_RELAXED)
)

func status(r C.CUresult) cudasim.Status { return cudasim.Status(r) }

// Open makes a context current on the calling thread.
func Open() (c Context, s cudasim.Status) {
	if s = status(C.cuInit(0)); s != 0 {
		return nil, s
	}
	return c, status(C.cuCtxCreate(&c, 0, 0))
}

// Close destroys a context.
func Close(c Context) cudasim.Status { return status(C.cuCtxDestroy(c)) }

// Bind makes a context current on the calling thread.
func Bind(c Context) cudasim.Status { return status(C.cuCtxSetCurrent(c)) }

// Synchronize waits for the current context.
func Synchronize() cudasim.Status { return status(C.cuCtxSynchronize()) }

// Alloc takes device memory.
func Alloc(bytes int) (a Address, s cudasim.Status) {
	return a, status(C.cuMemAlloc(&a, C.size_t(bytes)))
}

// Free gives device memory back.
func Free(a Address) cudasim.Status { return status(C.cuMemFree(a)) }

// Pinned takes page-locked host memory and gives it back.
func Pinned(bytes int) cudasim.Status {
	var memory unsafe.Pointer
	if r := C.cuMemHostAlloc(&memory, C.size_t(bytes), 0); r != C.CUDA_SUCCESS {
		return status(r)
	}
	return status(C.cuMemFreeHost(memory))
}

// Fill sets bytes of device memory on a stream.
func Fill(a Address, value byte, bytes int, s Stream) cudasim.Status {
	return status(C.cuMemsetD8Async(a, C.uchar(value), C.size_t(bytes), s))
}

// Read copies device memory to the host and waits.
func Read(to []float32, from Address) cudasim.Status {
	return status(C.cuMemcpyDtoH(unsafe.Pointer(&to[0]), from, C.size_t(4*len(to))))
}

// NewStream makes a stream that does not wait for the legacy stream.
func NewStream() (st Stream, s cudasim.Status) {
	return st, status(C.cuStreamCreate(&st, C.CU_STREAM_NON_BLOCKING))
}

// DestroyStream ends a stream.
func DestroyStream(st Stream) cudasim.Status { return status(C.cuStreamDestroy(st)) }

// Wait waits for a stream.
func Wait(st Stream) cudasim.Status { return status(C.cuStreamSynchronize(st)) }

// Query asks whether a stream has finished.
func Query(st Stream) cudasim.Status { return status(C.cuStreamQuery(st)) }

// NewEvent makes an event without timing.
func NewEvent() (e Event, s cudasim.Status) {
	return e, status(C.cuEventCreate(&e, C.CU_EVENT_DISABLE_TIMING))
}

// DestroyEvent ends an event.
func DestroyEvent(e Event) cudasim.Status { return status(C.cuEventDestroy(e)) }

// Record records an event on a stream.
func Record(e Event, st Stream) cudasim.Status { return status(C.cuEventRecord(e, st)) }

// Follow makes a stream wait for an event.
func Follow(st Stream, e Event) cudasim.Status { return status(C.cuStreamWaitEvent(st, e, 0)) }

// AskEvent asks whether an event has happened.
func AskEvent(e Event) cudasim.Status { return status(C.cuEventQuery(e)) }

// Begin begins a capture.
func Begin(st Stream, mode int) cudasim.Status {
	return status(C.cuStreamBeginCapture(st, C.CUstreamCaptureMode(mode)))
}

// End ends a capture.
func End(st Stream) (g Graph, s cudasim.Status) {
	return g, status(C.cuStreamEndCapture(st, &g))
}

// Nodes counts the nodes of a graph.
func Nodes(g Graph) (n int, s cudasim.Status) {
	var count C.size_t
	s = status(C.cuGraphGetNodes(g, nil, &count))
	return int(count), s
}

// DestroyGraph ends a graph.
func DestroyGraph(g Graph) cudasim.Status { return status(C.cuGraphDestroy(g)) }

// Instantiate makes a graph executable.
func Instantiate(g Graph) (e Exec, s cudasim.Status) {
	return e, status(C.cuGraphInstantiateWithFlags(&e, g, 0))
}

// DestroyExec ends an executable graph.
func DestroyExec(e Exec) cudasim.Status { return status(C.cuGraphExecDestroy(e)) }

// Run launches an executable graph.
func Run(e Exec, st Stream) cudasim.Status { return status(C.cuGraphLaunch(e, st)) }

// Load loads a module.
func Load(image []byte) (m Module, s cudasim.Status) {
	data := C.CBytes(image)
	defer C.free(data)
	return m, status(C.cuModuleLoadData(&m, data))
}

// Unload ends a module.
func Unload(m Module) cudasim.Status { return status(C.cuModuleUnload(m)) }

// Find finds a kernel of a module.
func Find(m Module, name string) (f Function, s cudasim.Status) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return f, status(C.cuModuleGetFunction(&f, m, text))
}

// AllowShared raises the dynamic shared memory that launches of a kernel may ask for.
func AllowShared(f Function, bytes int) cudasim.Status {
	return status(C.cuFuncSetAttribute(f, C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(bytes)))
}

// Argument is what the kernels of the tests take.
type Argument struct {
	From, To Address
	N        int64
}

// Launch launches a kernel.
func Launch(f Function, blocks, threads, dynamic int, st Stream, a Argument) cudasim.Status {
	copied := (*Argument)(C.malloc(C.size_t(unsafe.Sizeof(a))))
	defer C.free(unsafe.Pointer(copied))
	*copied = a
	return status(C.launch(f, C.uint(blocks), C.uint(threads), C.uint(dynamic), st, unsafe.Pointer(copied)))
}

// LaunchEarly launches a kernel that may start before the launch in front of it
// has finished.
func LaunchEarly(f Function, blocks, threads int, st Stream, a Argument) cudasim.Status {
	copied := (*Argument)(C.malloc(C.size_t(unsafe.Sizeof(a))))
	defer C.free(unsafe.Pointer(copied))
	*copied = a
	return status(C.launch_early(f, C.uint(blocks), C.uint(threads), st, unsafe.Pointer(copied)))
}

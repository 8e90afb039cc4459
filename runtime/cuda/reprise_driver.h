// What the back end needs of the CUDA driver beyond gorgonia.org/cu: running,
// recording and replaying programs, pinned memory, and error texts. Every
// function returns its own status.
#ifndef reprise_driver_h
#define reprise_driver_h

#include "reprise_context.h"

// What the driver answered when the process initialised it.
CUresult reprise_init_status(void);

// The name of a status, such as CUDA_ERROR_OUT_OF_MEMORY, and what it means.
const char *reprise_status_name(CUresult status);
const char *reprise_status_text(CUresult status);

// Page-locked host memory, which the device copies from and to by itself.
CUresult reprise_pinned_allocate(void **memory, size_t bytes);
CUresult reprise_pinned_free(void *memory);

// Lets launches of a kernel ask for more dynamic shared memory than 48 KiB.
CUresult reprise_allow_shared(CUfunction kernel, int bytes);

// A context with all its arrays, NULL when the host has no memory left; and the
// end of it, to be called last.
struct reprise_context *reprise_context_new(const struct reprise_stage *stage);
void reprise_context_delete(struct reprise_context *c);

// Side lanes and events of a context; first is the stream of the device. Closing
// may follow a failed opening. It releases recordings too.
CUresult reprise_context_open(struct reprise_context *c, CUstream first);
CUresult reprise_context_close(struct reprise_context *c);

// The table's functions.
int64_t reprise_scratch_bytes(const struct reprise_stage *stage, int lane, int64_t n, int64_t h, int64_t w);
int reprise_needs_wide(const struct reprise_stage *stage, int64_t n, int64_t h, int64_t w);
CUresult reprise_images(struct reprise_context *c, CUdeviceptr jitter, CUdeviceptr pixels, CUdeviceptr map, const int64_t stride[4], int64_t n, int64_t h, int64_t w);
CUresult reprise_add(struct reprise_context *c, CUdeviceptr y, CUdeviceptr a, int64_t elements);

// Issues the launches of a program one by one.
CUresult reprise_run(struct reprise_context *c, int program);

// Issues a step of a program and waits for it.
CUresult reprise_run_step(struct reprise_context *c, int program, int step);

// Captures a program without executing it. The recording stays in the context,
// which must not have one of the program already. After an error nothing is left.
CUresult reprise_record(struct reprise_context *c, int program);

// Runs the recording of a program as one launch.
CUresult reprise_replay(struct reprise_context *c, int program);

// Releases the recording of a program after its last replay has finished.
CUresult reprise_release(struct reprise_context *c, int program);

#endif

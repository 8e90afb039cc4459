// clang-format off
//go:build cuda
// clang-format on

#include "reprise_driver.h"

#include <stdlib.h>

// Arrays that a stage does not need have one element all the same, so that NULL
// always means that there was no memory.
static void *array(int count, size_t bytes) { return calloc((size_t)count + 1, bytes); }

struct reprise_context *reprise_context_new(const struct reprise_stage *stage) {
  struct reprise_context *c = calloc(1, sizeof *c);
  if (c == NULL)
    return NULL;
  c->stage = stage;
  c->reason = "";
  c->storage = array(stage->storages, sizeof *c->storage);
  c->scratch = array(stage->lanes, sizeof *c->scratch);
  c->kernel = array(stage->kernels, sizeof *c->kernel);
  c->lane = array(stage->lanes, sizeof *c->lane);
  c->follows = array(stage->lanes, sizeof *c->follows);
  c->join = array(stage->lanes, sizeof *c->join);
  c->event = array(stage->events, sizeof *c->event);
  c->recording = array(stage->programs, sizeof *c->recording);
  if (c->storage && c->scratch && c->kernel && c->lane && c->follows && c->join && c->event && c->recording)
    return c;
  reprise_context_delete(c);
  return NULL;
}

void reprise_context_delete(struct reprise_context *c) {
  free(c->storage);
  free(c->scratch);
  free(c->kernel);
  free(c->lane);
  free(c->follows);
  free(c->join);
  free(c->event);
  free(c->recording);
  free(c);
}

CUresult reprise_context_open(struct reprise_context *c, CUstream first) {
  const struct reprise_stage *stage = c->stage;
  CUresult r = cuEventCreate(&c->fork, CU_EVENT_DISABLE_TIMING);
  c->lane[0] = first;
  for (int i = 1; i < stage->lanes && r == CUDA_SUCCESS; i++)
    r = cuStreamCreate(&c->lane[i], CU_STREAM_NON_BLOCKING);
  for (int i = 1; i < stage->lanes && r == CUDA_SUCCESS; i++)
    r = cuEventCreate(&c->join[i], CU_EVENT_DISABLE_TIMING);
  for (int i = 0; i < stage->events && r == CUDA_SUCCESS; i++)
    r = cuEventCreate(&c->event[i], CU_EVENT_DISABLE_TIMING);
  c->reason = r == CUDA_SUCCESS ? "" : "streams and events could not be created";
  return r;
}

// Keeps the first error and goes on, so that everything is released.
static void keep(CUresult *first, CUresult r) {
  if (*first == CUDA_SUCCESS)
    *first = r;
}

static void destroy_event(CUresult *first, CUevent *event) {
  if (*event != NULL)
    keep(first, cuEventDestroy(*event));
  *event = NULL;
}

CUresult reprise_context_close(struct reprise_context *c) {
  const struct reprise_stage *stage = c->stage;
  CUresult r = CUDA_SUCCESS;
  c->reason = "what a stage holds could not be released";
  for (int i = 0; i < stage->programs; i++)
    keep(&r, reprise_release(c, i));
  for (int i = 0; i < stage->lanes; i++)
    if (c->lane[i] != NULL)
      keep(&r, cuStreamSynchronize(c->lane[i]));
  for (int i = 0; i < stage->events; i++)
    destroy_event(&r, &c->event[i]);
  for (int i = 1; i < stage->lanes; i++) {
    destroy_event(&r, &c->join[i]);
    if (c->lane[i] != NULL)
      keep(&r, cuStreamDestroy(c->lane[i]));
    c->lane[i] = NULL;
  }
  destroy_event(&r, &c->fork);
  c->lane[0] = NULL;
  return r;
}

int64_t reprise_scratch_bytes(const struct reprise_stage *stage, int lane, int64_t n, int64_t h, int64_t w) { return stage->scratch_bytes(lane, n, h, w); }

int reprise_needs_wide(const struct reprise_stage *stage, int64_t n, int64_t h, int64_t w) { return stage->needs_wide(n, h, w); }

// After a launch that belongs to no program: there may be copies before the next
// one, which that must not overtake.
static CUresult alone(struct reprise_context *c, CUresult r) {
  c->follows[0] = 0;
  return r;
}

CUresult reprise_images(struct reprise_context *c, CUdeviceptr jitter, CUdeviceptr pixels, CUdeviceptr map, const int64_t stride[4], int64_t n, int64_t h, int64_t w) {
  return alone(c, c->stage->images(c, jitter, pixels, map, stride, n, h, w));
}

CUresult reprise_add(struct reprise_context *c, CUdeviceptr y, CUdeviceptr a, int64_t elements) { return alone(c, c->stage->add(c, y, a, elements)); }

// clang-format off
//go:build cuda
// clang-format on

#include "reprise_driver.h"

#include <stdlib.h>
#include <string.h>

static CUresult failed(struct reprise_context *c, CUresult r, const char *reason) {
  c->reason = reason;
  return r;
}

static int known(const struct reprise_context *c, int program) { return program >= 0 && program < c->stage->programs; }

// Makes a lane wait for an event. Its next launch then waits for two things, and
// starts late.
static CUresult wait_for(struct reprise_context *c, int lane, CUevent event) {
  c->follows[lane] = 0;
  return cuStreamWaitEvent(c->lane[lane], event, 0);
}

// Side lanes follow the first lane from here on.
static CUresult fork_lanes(struct reprise_context *c, int lanes) {
  CUresult r = cuEventRecord(c->fork, c->lane[0]);
  for (int i = 1; i < lanes && r == CUDA_SUCCESS; i++)
    r = wait_for(c, i, c->fork);
  return r;
}

// The first lane goes on when all side lanes have finished. A recording may
// only end when every stream that took part has come back.
static CUresult join_lanes(struct reprise_context *c, int lanes) {
  CUresult r = CUDA_SUCCESS;
  for (int i = 1; i < lanes && r == CUDA_SUCCESS; i++) {
    r = cuEventRecord(c->join[i], c->lane[i]);
    if (r == CUDA_SUCCESS)
      r = wait_for(c, 0, c->join[i]);
  }
  return r;
}

// Outside of programs no lane follows a launch: what is enqueued there belongs to
// others.
static void end_lanes(struct reprise_context *c) { memset(c->follows, 0, (size_t)c->stage->lanes); }

static CUresult issue(struct reprise_context *c, const struct reprise_step *s) {
  switch (s->kind) {
  case reprise_launch:
    return s->operation(c, s->lane);
  case reprise_wait:
    return wait_for(c, s->lane, c->event[s->value]);
  case reprise_signal:
    return cuEventRecord(c->event[s->value], c->lane[s->lane]);
  case reprise_fork:
    return fork_lanes(c, s->lane);
  case reprise_join:
    return join_lanes(c, s->lane);
  }
  return failed(c, CUDA_ERROR_INVALID_VALUE, "a program has a step of an unknown kind; generate the package again");
}

CUresult reprise_run(struct reprise_context *c, int program) {
  CUresult r = CUDA_SUCCESS;
  c->reason = "the order of two lanes could not be enqueued";
  if (!known(c, program))
    return failed(c, CUDA_ERROR_INVALID_VALUE, "no such program");
  const struct reprise_program *p = &c->stage->program[program];
  for (int i = 0; i < p->steps && r == CUDA_SUCCESS; i++)
    r = issue(c, &p->step[i]);
  end_lanes(c);
  return r;
}

CUresult reprise_run_step(struct reprise_context *c, int program, int step) {
  c->reason = "a launch could not be observed";
  if (!known(c, program) || step < 0 || step >= c->stage->program[program].steps)
    return failed(c, CUDA_ERROR_INVALID_VALUE, "no such step");
  const struct reprise_step *s = &c->stage->program[program].step[step];
  CUresult r = issue(c, s);
  end_lanes(c);
  if (r == CUDA_SUCCESS && s->kind == reprise_launch)
    r = cuStreamSynchronize(c->lane[s->lane]);
  return r;
}

// Refuses anything in a recording but the launches of the plan: a memory, host
// or event node would be done once or read memory that is gone at replay.
static CUresult census(struct reprise_context *c, CUgraph graph, int nodes) {
  size_t count = 0;
  CUresult r = cuGraphGetNodes(graph, NULL, &count);
  if (r != CUDA_SUCCESS)
    return failed(c, r, "the nodes of a recording could not be counted");
  if (count == 0 && nodes == 0)
    return CUDA_SUCCESS; // nothing to do, such as the backward pass of a stage without parameters
  if (count == 0)
    return failed(c, CUDA_ERROR_INVALID_VALUE, "empty recording: no launch was captured");
  if (count != (size_t)nodes)
    return failed(c, CUDA_ERROR_INVALID_VALUE, "a recording does not hold the launches of its plan");
  CUgraphNode *list = calloc(count, sizeof *list);
  if (list == NULL)
    return failed(c, CUDA_ERROR_OUT_OF_MEMORY, "no host memory for the nodes of a recording");
  r = cuGraphGetNodes(graph, list, &count);
  if (r != CUDA_SUCCESS)
    failed(c, r, "the nodes of a recording could not be listed");
  for (size_t i = 0; i < count && r == CUDA_SUCCESS; i++) {
    CUgraphNodeType type;
    if ((r = cuGraphNodeGetType(list[i], &type)) != CUDA_SUCCESS)
      failed(c, r, "a node of a recording could not be read");
    else if (type != CU_GRAPH_NODE_TYPE_KERNEL)
      r = failed(c, CUDA_ERROR_INVALID_VALUE, "a recording holds a node that is no kernel launch");
  }
  free(list);
  return r;
}

// Captures the launches of a program into a graph. Capture is local to the
// calling thread, so other threads may allocate. It is ended whatever happens.
static CUresult capture(struct reprise_context *c, int program, CUgraph *graph) {
  CUresult r = cuStreamBeginCapture(c->lane[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (r != CUDA_SUCCESS)
    return failed(c, r, "a capture could not begin");
  c->recording_now = 1;
  r = reprise_run(c, program);
  c->recording_now = 0;
  const CUresult end = cuStreamEndCapture(c->lane[0], graph);
  if (r == CUDA_SUCCESS && end != CUDA_SUCCESS)
    return failed(c, end, "a capture was broken");
  return r;
}

CUresult reprise_record(struct reprise_context *c, int program) {
  CUgraph graph = NULL;
  CUgraphExec recording = NULL;
  CUresult r;
  if (!known(c, program))
    return failed(c, CUDA_ERROR_INVALID_VALUE, "no such program");
  if (c->recording[program] != NULL)
    return failed(c, CUDA_ERROR_INVALID_VALUE, "the program has a recording already; close it first");
  if ((r = capture(c, program, &graph)) != CUDA_SUCCESS)
    goto end;
  if ((r = census(c, graph, c->stage->program[program].nodes)) != CUDA_SUCCESS)
    goto end;
  if ((r = cuGraphInstantiateWithFlags(&recording, graph, 0)) != CUDA_SUCCESS) {
    failed(c, r, "a recording could not be instantiated");
    goto end;
  }
  if ((r = cuGraphUpload(recording, c->lane[0])) != CUDA_SUCCESS) {
    failed(c, r, "a recording could not be uploaded");
    goto end;
  }
  c->recording[program] = recording;
  recording = NULL;
end:
  if (recording != NULL)
    cuGraphExecDestroy(recording);
  if (graph != NULL)
    cuGraphDestroy(graph);
  return r;
}

CUresult reprise_replay(struct reprise_context *c, int program) {
  if (!known(c, program) || c->recording[program] == NULL)
    return failed(c, CUDA_ERROR_INVALID_VALUE, "the program has not been recorded");
  const CUresult r = cuGraphLaunch(c->recording[program], c->lane[0]);
  if (r != CUDA_SUCCESS)
    return failed(c, r, "a recording could not be launched");
  c->graph_launches++;
  return r;
}

// A recording that is running must not be destroyed.
CUresult reprise_release(struct reprise_context *c, int program) {
  if (!known(c, program) || c->recording[program] == NULL)
    return CUDA_SUCCESS;
  const CUresult last = cuStreamSynchronize(c->lane[0]);
  const CUresult r = cuGraphExecDestroy(c->recording[program]);
  c->recording[program] = NULL;
  if (last != CUDA_SUCCESS)
    return failed(c, last, "the last replay of a recording failed");
  return r == CUDA_SUCCESS ? r : failed(c, r, "a recording could not be released");
}

// What a back end and the generated wrappers of a stage share: the context that
// the back end fills in, and the table that a wrapper exports.
//
// The caller owns all memory. No function of a wrapper allocates. All calls for
// one context come from one thread, with the device's context current.
#ifndef reprise_context_h
#define reprise_context_h

#include <cuda.h>
#include <stdint.h>

// Changes with every change of the structures below.
enum { reprise_context_format = 3 };

struct reprise_stage;

// A stage with its sizes fixed. Arrays have the lengths that its table gives.
struct reprise_context {
  const struct reprise_stage *stage;

  CUdeviceptr *storage; // by position in the plan
  CUdeviceptr packed;   // weights as the kernels read them
  CUdeviceptr *scratch; // by lane: what its launches share between their passes
  CUfunction *kernel;   // of the precision of the fit

  CUstream *lane; // the first belongs to the device, the others to the context
  CUevent fork, *join, *event;
  CUgraphExec *recording; // by program; NULL while there is none

  // A launch may start while the one before on its lane ends, where kernels were
  // compiled to wait for that one. Not behind a wait for another lane, nor as the
  // first launch of a program.
  int kernels_wait;
  char *follows; // by lane: its last step was a launch

  int64_t batch, height, width;
  int64_t element; // bytes of an activation

  // What has happened, for reports and tests.
  int64_t kernel_launches, graph_launches;
  int recording_now;
  const char *reason; // of the last error, in words

  // The launch that fails, counted down from here; 0 for none. Tests of the
  // recovery from failed launches and captures set it.
  int64_t fail_at;
};

enum reprise_step_kind {
  reprise_launch, // issue an operation on a lane
  reprise_wait,   // a lane follows an event
  reprise_signal, // record an event on a lane
  reprise_fork,   // side lanes follow the first lane from here on
  reprise_join,   // the first lane goes on when all side lanes have finished
};

typedef CUresult reprise_operation(struct reprise_context *, int lane);

// One step of a program.
struct reprise_step {
  enum reprise_step_kind kind;
  int lane;  // of a fork and a join: how many lanes take part
  int value; // of a wait and a signal: the event; of a launch: the operation's position in the plan, -1 for none
  reprise_operation *operation;
};

// One list of launches.
struct reprise_program {
  const struct reprise_step *step;
  int steps;
  int nodes; // kernel launches, which is also the nodes of its recording
};

// What a wrapper exports. Programs are the forward pass in training, the forward
// pass in evaluation, and the backward passes in the order of the plan.
struct reprise_stage {
  int format;       // reprise_context_format
  const char *plan; // digest
  int storages, kernels, lanes, events, programs;
  int64_t packed;                 // elements of all packed weights
  const char *const *kernel_name; // without the suffix of the precision
  const int32_t *kernel_shared;   // dynamic shared memory of a launch, in bytes, where activations have 16 bits; elsewhere there is none
  const struct reprise_program *program;

  // Memory that a lane's launches share between their passes, in bytes.
  int64_t (*scratch_bytes)(int lane, int64_t n, int64_t h, int64_t w);
  // Whether the sizes need 64-bit indices.
  int (*needs_wide)(int64_t n, int64_t h, int64_t w);
  // Converts 8-bit pixels (n, h, w, 3) to a map (n, 3, h, w) of code/255 with
  // the given strides in elements; NULL when no input of the stage is an image.
  CUresult (*images)(struct reprise_context *, CUdeviceptr jitter, CUdeviceptr pixels, CUdeviceptr map, const int64_t stride[4], int64_t n, int64_t h, int64_t w);
  // Adds activations at a, which lie in memory without gaps, to those at y.
  CUresult (*add)(struct reprise_context *, CUdeviceptr y, CUdeviceptr a, int64_t elements);
};

#endif

// What a kernel image and the simulator agree on. An image is a shared object
// that a C++ compiler made from generated kernels; it calls the functions below,
// which the simulator defines, and exports one table of its kernels.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct cudasim_index {
  unsigned x, y, z;
};

// The built-in variables of the thread that runs now. One simulated thread
// runs at a time, so that one copy serves all.
struct cudasim_builtins {
  cudasim_index thread, block, block_extent, grid_extent;
};

// One kernel of an image. The argument is one structure, passed by value.
struct cudasim_kernel {
  const char *name;
  void (*run)(const void *argument);
  size_t argument_bytes;
  unsigned most_threads; // of a block, from __launch_bounds__
};

// The symbol cudasim_image of an image. The content names what it was compiled
// from, never where.
struct cudasim_table {
  const char *content;
  const cudasim_kernel *kernels;
  size_t count;
  char *dynamic; // cudasim_most_dynamic bytes, of which a launch has as many as it asks for
};

extern "C" {
extern cudasim_builtins cudasim_now;

// Waits for the launch before on the stream, of which the launch may have been
// started early.
void cudasim_wait_for_launch_before(void);

// Waits for all threads of the block.
void cudasim_barrier(void);

// Runs compute once for the 32 operands of a warp, in lane order, when its last
// lane has arrived; every lane then goes on.
typedef void (*cudasim_warp_function)(void *const operand[32]);
void cudasim_warp(cudasim_warp_function compute, void *operand);

// Shared memory as a 32-bit address, and back.
uint32_t cudasim_shared_address(const void *p);

// Bytes at an address in shared memory, checked as a read by one lane of the warp that runs.
const void *cudasim_shared_read(uint32_t at, int bytes, int lane);

// The dynamic shared memory of a block: the least that a device of compute
// capability 8.0 or more allows. Each image has its own, as it has its own shared
// variables.
constexpr int cudasim_most_dynamic = 99 << 10;

// Asynchronous copies of the thread that runs: they take effect in a wait.
void cudasim_copy_begin(uint32_t to, const void *from, int bytes);
void cudasim_copy_commit(void);
void cudasim_copy_wait(int pending);
}

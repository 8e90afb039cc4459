// Runs kernels: one block after the other, the threads of a block by turns.
//
// A thread runs on a stack of its own until it ends or waits for others; a
// thread that never waits hands its stack to the next one.
#pragma once

#include "image.h"

namespace cudasim {

struct Grid {
  cudasim_index blocks, threads;
  unsigned dynamic_bytes; // of shared memory; checked against the kernel's limit
  bool early = false;     // may start before the launch in front of it has finished
};

// Runs all blocks. A kernel that reads or writes where it must not is stopped,
// and the error is sticky.
CUresult run_kernel(Image &image, const cudasim_kernel &kernel, const std::string &argument, const Grid &grid);

// What may be wrong with a kernel; one of each is reported in one launch.
enum Wrong { bounds,
             alignment,
             never_written,
             race,
             race_of_blocks,
             barrier_missed,
             copies_left,
             not_waited,
             wrong_kinds };

// The kernel that runs now, as the hooks of its memory accesses see it.
struct Running {
  Image *image = nullptr;
  uintptr_t shared = 0, shared_bytes = 0; // its shared variables
  Cell *cells = nullptr;                  // their state
  uint32_t block = 0;                     // a number for each block that ever ran
  uint32_t first = 0;                     // of the blocks of this launch
  uint32_t epoch = 0;                     // barriers passed in this block, from 1
  uint16_t thread = 0;                    // in the block
  bool early = false;                     // it has not waited for the launch before
};
extern Running now;
extern uintptr_t stacks_first, stacks_bytes; // where the stacks of the threads lie

// Reports something about the thread that runs, once in a launch.
void accuse(Wrong kind, const std::string &what);

// The same, and ends the launch with a status. Does not return.
[[noreturn]] void stop(Wrong kind, CUresult status, const std::string &what);

} // namespace cudasim

#include "block.h"
#include "machine.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sys/mman.h>

// Saves the registers that a call preserves on this stack, and goes on from another.
extern "C" void cudasim_switch(void **save, void *to);
asm(R"(
.text
.type cudasim_switch, @function
cudasim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cudasim_switch, . - cudasim_switch
)");

cudasim_builtins cudasim_now;

namespace cudasim {

Running now;
uintptr_t stacks_first, stacks_bytes;

namespace {

constexpr size_t stack_bytes = 64 << 10, most_threads = 1024, argument_bytes = 1 << 16;

enum State { fresh,
             ready,
             at_barrier,
             in_warp,
             ended };

struct Copy {
  uint32_t to;
  const void *from;
  int bytes;
  unsigned group;
};

struct Thread {
  State state;
  void *at; // its stack pointer while others run
  char *stack;
  cudasim_index index;
  std::vector<Copy> copies; // not waited for, oldest first
  unsigned groups;          // committed
  bool early;               // has not waited for the launch before
};

struct Warp {
  cudasim_warp_function compute;
  int arrived;
  void *operand[32];
};

struct Launch {
  const cudasim_kernel *kernel = nullptr;
  const void *argument = nullptr; // a copy where kernels may read
  CUresult status = CUDA_SUCCESS;
  bool accused[wrong_kinds] = {};
  size_t threads = 0, alive = 0;
  bool early = false;
};

Launch launch;
Thread threads[most_threads];
Warp warps[most_threads / 32];
std::vector<char *> free_stacks;
void *scheduler;   // its stack pointer while a thread runs
size_t next_block; // numbers blocks

// Reserves all stacks, each below a page that must not be touched, and the
// place of a launch's argument.
void reserve_stacks() {
  stacks_bytes = most_threads * stack_bytes + argument_bytes;
  auto *all = static_cast<char *>(mmap(nullptr, stacks_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  stacks_first = reinterpret_cast<uintptr_t>(all);
  for (size_t i = most_threads; i-- > 0;) {
    mprotect(all + i * stack_bytes, 4096, PROT_NONE);
    free_stacks.push_back(all + i * stack_bytes);
  }
  launch.argument = all + most_threads * stack_bytes;
}

Thread &self() { return threads[now.thread]; }

// Lets the scheduler choose who goes on.
void yield() { cudasim_switch(&self().at, scheduler); }

void thread_main() {
  launch.kernel->run(launch.argument);
  if (!self().copies.empty())
    accuse(copies_left, "leaves the kernel before its asynchronous copies have arrived");
  if (self().early)
    accuse(not_waited, "ends without having waited for the launch before, which may still run");
  self().state = ended;
  launch.alive--;
  free_stacks.push_back(self().stack);
  yield();
}

void prepare(Thread &t) {
  t.stack = free_stacks.back();
  free_stacks.pop_back();
  auto *top = reinterpret_cast<void **>(t.stack + stack_bytes) - 1; // aligned as after a call
  *--top = reinterpret_cast<void *>(thread_main);
  for (int i = 0; i < 6; i++)
    *--top = nullptr;
  t.at = top;
  t.copies.clear();
  t.groups = 0;
  t.early = launch.early;
}

void resume(size_t i) {
  Thread &t = threads[i];
  if (t.state == fresh)
    prepare(t);
  t.state = ready;
  now.thread = uint16_t(i);
  now.early = t.early;
  cudasim_now.thread = t.index;
  cudasim_switch(&scheduler, t.at);
}

// After a stop: nobody goes on, all stacks are free.
void abandon() {
  for (size_t i = 0; i < launch.threads; i++)
    if (threads[i].state != ended && threads[i].state != fresh)
      free_stacks.push_back(threads[i].stack);
}

// All threads alive wait for the barrier. Those that have ended never come.
void open_barrier() {
  if (launch.alive < launch.threads)
    accuse(barrier_missed, text("waits for a barrier that %zu threads of the block, which have ended, do not reach", launch.threads - launch.alive));
  for (size_t i = 0; i < launch.threads; i++)
    if (threads[i].state == at_barrier)
      threads[i].state = ready;
  now.epoch++;
}

void shuffle(std::vector<size_t> &order) {
  for (size_t i = order.size(); i > 1; i--)
    std::swap(order[i - 1], order[random_below(i)]);
}

// Gives every thread that can go on a turn, and tells whether there was one.
bool turn(const std::vector<size_t> &order) {
  bool any = false;
  for (size_t i : order)
    if (threads[i].state == fresh || threads[i].state == ready) {
      any = true;
      resume(i);
      if (launch.status != CUDA_SUCCESS)
        return false;
    }
  return any;
}

void run_block(std::vector<size_t> &order) {
  now.block = uint32_t(++next_block % on_its_way);
  now.epoch = 1;
  launch.alive = launch.threads;
  for (size_t i = 0; i < launch.threads; i++)
    threads[i].state = fresh;
  for (size_t i = 0; i < (launch.threads + 31) / 32; i++)
    warps[i].arrived = 0;
  while (launch.alive > 0 && launch.status == CUDA_SUCCESS) {
    if (shuffled())
      shuffle(order);
    if (turn(order) || launch.status != CUDA_SUCCESS || launch.alive == 0)
      continue;
    const auto waiting = size_t(std::count_if(threads, threads + launch.threads, [](const Thread &t) { return t.state == at_barrier; }));
    if (waiting == launch.alive) {
      open_barrier();
      continue;
    }
    accuse(barrier_missed, "hangs: some threads wait for a barrier or for lanes of their warp that never come");
    launch.status = CUDA_ERROR_LAUNCH_FAILED;
  }
  abandon();
}

cudasim_index position(size_t i, const cudasim_index &extent) {
  return {unsigned(i % extent.x), unsigned(i / extent.x % extent.y), unsigned(i / extent.x / extent.y)};
}

// The cells of dynamic shared memory that the launch has not asked for belong to
// no variable. Most launches ask for none, and the cells stay as they are.
void limit_dynamic(Image &image, size_t bytes) {
  if (bytes == 0 && image.dynamic == 0)
    return;
  image.dynamic = bytes;
  Cell *cells = image.cells.data() + (reinterpret_cast<uintptr_t>(image.table->dynamic) - image.low) / 4;
  for (size_t i = 0; i < size_t(cudasim_most_dynamic) / 4; i++)
    cells[i] = Cell{i * 4 < bytes ? 0 : no_variable, 0, 0, 0, 0};
}

} // namespace

void accuse(Wrong kind, const std::string &what) {
  if (launch.accused[kind])
    return;
  launch.accused[kind] = true;
  const auto &b = cudasim_now.block, &t = cudasim_now.thread;
  report(text("kernel %s, block (%u, %u, %u), thread (%u, %u, %u): %s", launch.kernel->name, b.x, b.y, b.z, t.x, t.y, t.z, what.c_str()));
}

void stop(Wrong kind, CUresult status, const std::string &what) {
  accuse(kind, what);
  launch.status = status;
  yield();
  __builtin_unreachable();
}

CUresult run_kernel(Image &image, const cudasim_kernel &kernel, const std::string &argument, const Grid &grid) {
  if (stacks_first == 0)
    reserve_stacks();
  launch.kernel = &kernel;
  launch.status = CUDA_SUCCESS;
  std::fill(std::begin(launch.accused), std::end(launch.accused), false);
  launch.early = grid.early;
  launch.threads = size_t(grid.threads.x) * grid.threads.y * grid.threads.z;
  memcpy(const_cast<void *>(launch.argument), argument.data(), argument.size());
  now.image = &image;
  now.shared = image.low;
  now.shared_bytes = image.high - image.low;
  now.cells = image.cells.data();
  limit_dynamic(image, grid.dynamic_bytes);
  now.first = uint32_t((next_block + 1) % on_its_way);
  cudasim_now.block_extent = grid.threads;
  cudasim_now.grid_extent = grid.blocks;
  for (size_t i = 0; i < launch.threads; i++)
    threads[i].index = position(i, grid.threads);
  std::vector<size_t> order(launch.threads), blocks(size_t(grid.blocks.x) * grid.blocks.y * grid.blocks.z);
  std::iota(order.begin(), order.end(), size_t(0));
  std::iota(blocks.begin(), blocks.end(), size_t(0));
  if (shuffled())
    shuffle(blocks);
  for (size_t b : blocks) {
    cudasim_now.block = position(b, grid.blocks);
    run_block(order);
    if (launch.status != CUDA_SUCCESS) {
      running->lost = launch.status;
      break;
    }
  }
  now.image = nullptr;
  return launch.status;
}

} // namespace cudasim

using namespace cudasim;

extern "C" {

void cudasim_wait_for_launch_before(void) { now.early = self().early = false; }

void cudasim_barrier(void) {
  self().state = at_barrier;
  yield();
}

void cudasim_warp(cudasim_warp_function compute, void *operand) {
  const size_t first = now.thread / 32 * 32;
  Warp &w = warps[now.thread / 32];
  if (w.arrived > 0 && w.compute != compute)
    stop(barrier_missed, CUDA_ERROR_LAUNCH_FAILED, "reaches another warp instruction than lanes of its warp");
  w.compute = compute;
  w.operand[now.thread % 32] = operand;
  if (++w.arrived < 32) {
    self().state = in_warp;
    yield();
    return;
  }
  w.arrived = 0;
  compute(w.operand);
  for (size_t i = first; i < first + 32; i++)
    if (threads[i].state == in_warp)
      threads[i].state = ready;
}
}

namespace cudasim {

// --- asynchronous copies; access.cc checks their ends

void begin_copy(uint32_t to, const void *from, int bytes) { self().copies.push_back({to, from, bytes, self().groups}); }
void arrive(uint32_t to, const void *from, int bytes);

} // namespace cudasim

extern "C" {

void cudasim_copy_commit(void) { self().groups++; }

void cudasim_copy_wait(int pending) {
  Thread &t = self();
  size_t n = 0;
  while (n < t.copies.size() && t.copies[n].group + unsigned(pending) < t.groups) {
    arrive(t.copies[n].to, t.copies[n].from, t.copies[n].bytes);
    n++;
  }
  t.copies.erase(t.copies.begin(), t.copies.begin() + long(n));
}
}

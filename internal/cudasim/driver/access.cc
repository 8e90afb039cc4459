// The memory accesses of kernels. The compiler that makes an image announces
// each of them to the functions of this file (it does so for a race detector,
// whose names they have), which check it before it happens.
#include "block.h"
#include "machine.h"

#include <cstdlib>
#include <cstring>

namespace cudasim {

void begin_copy(uint32_t to, const void *from, int bytes);
void arrive(uint32_t to, const void *from, int bytes);

namespace {

constexpr uint64_t all_defined = 0x0202020202020202;

// Whether bytes up to 8 have been written.
template <int Bytes>
inline bool fast_defined(uintptr_t a) {
  constexpr uint64_t mask = Bytes == 8 ? ~uint64_t(0) : (uint64_t(1) << (Bytes % 8 * 8)) - 1;
  uint64_t s = 0;
  memcpy(&s, states(a), Bytes);
  return s == (all_defined & mask);
}

inline bool in_shared(uintptr_t a) { return a - now.shared < now.shared_bytes; }
inline bool on_stack(uintptr_t a) { return a - stacks_first < stacks_bytes; }
inline bool in_image(uintptr_t a) { return a - now.image->first < now.image->last - now.image->first; }

[[noreturn]] __attribute__((noinline)) void outside_of(uintptr_t a, size_t bytes, const char *does) {
  stop(bounds, CUDA_ERROR_ILLEGAL_ADDRESS, text("%s %zu bytes at %s", does, bytes, describe(a).c_str()));
}

// Kernels may load the padding of a row along with it, as long as no result
// depends on it; a result that does is not a number.
bool strict_poison() {
  static const bool strict = getenv("CUDASIM_POISON") != nullptr;
  return strict;
}

__attribute__((noinline)) void slow_device(uintptr_t a, size_t bytes, bool write) {
  if (!inside(a, bytes))
    outside_of(a, bytes, write ? "writes" : "reads");
  if (write)
    set_state(a, bytes, defined);
  else if (has(undefined, a, bytes) || (strict_poison() && has(poisoned, a, bytes)))
    accuse(never_written, text("reads %zu bytes that were never written, at %s", bytes, describe(a).c_str()));
}

__attribute__((noinline)) void wrong_shared(const Cell &c, uintptr_t a, const char *does) {
  const size_t offset = a - now.shared;
  if (c.block == no_variable)
    stop(bounds, CUDA_ERROR_ILLEGAL_ADDRESS, text("%s shared memory (at 0x%zx) that belongs to no variable", does, offset));
  if (c.block == on_its_way)
    accuse(race, text("%s shared memory (at 0x%zx) before an asynchronous copy to it has been waited for", does, offset));
  else if (c.block != now.block)
    accuse(never_written, text("%s shared memory (at 0x%zx) that was never written in this block", does, offset));
  else
    accuse(race, text("%s shared memory (at 0x%zx) that thread %u uses too, with no barrier between", does, offset, c.write_epoch == now.epoch ? c.writer : c.reader));
}

inline void read_cell(Cell &c, uintptr_t a, bool whole, uint16_t thread) {
  if (c.block != now.block) {
    wrong_shared(c, a, "reads");
    return;
  }
  if (whole && c.write_epoch == now.epoch && c.writer != thread)
    wrong_shared(c, a, "reads");
  c.reader = c.read_epoch == now.epoch && c.reader != thread ? many_readers : thread;
  c.read_epoch = now.epoch;
}

inline void write_cell(Cell &c, uintptr_t a, bool whole, uint16_t thread) {
  if (c.block >= on_its_way)
    wrong_shared(c, a, "writes");
  if (c.block != now.block) {
    c.block = now.block;
    c.read_epoch = 0;
  } else if (whole && ((c.write_epoch == now.epoch && c.writer != thread) || (c.read_epoch == now.epoch && c.reader != thread))) {
    wrong_shared(c, a, "writes");
  }
  c.write_epoch = now.epoch;
  c.writer = thread;
}

inline Cell *cell(uintptr_t a) { return now.cells + (a - now.shared) / 4; }

// Accesses of less than a word do not count as races: two threads may own the
// halves of one.
inline void shared_access(uintptr_t a, size_t bytes, bool write, uint16_t thread) {
  if (a + bytes > now.shared + now.shared_bytes)
    outside_of(a, bytes, "accesses");
  Cell *c = cell(a), *end = cell(a + bytes - 1);
  for (; c <= end; c++)
    if (write)
      write_cell(*c, a, bytes >= 4, thread);
    else
      read_cell(*c, a, bytes >= 4, thread);
}

inline void elsewhere(uintptr_t a, size_t bytes, bool write) {
  if (!on_stack(a) && (write || !in_image(a)))
    outside_of(a, bytes, write ? "writes" : "reads");
}

__attribute__((noinline)) void blocks_meet(uintptr_t a, const char *does) {
  accuse(race_of_blocks, text("%s what another block of the launch has written, at %s", does, describe(a).c_str()));
}

__attribute__((noinline)) void too_early(uintptr_t a, const char *does) {
  accuse(not_waited, text("%s before it has waited for the launch before, at %s", does, describe(a).c_str()));
}

// No block reads or writes what another block of the same launch writes, nor
// anything while the launch before may still run.
inline void meet(uintptr_t a, size_t bytes, bool write) {
  if (now.early)
    too_early(a, write ? "writes" : "reads");
  for (uint32_t *w = writer(a); w <= writer(a + bytes - 1); w++) {
    if (*w >= now.first && *w != now.block && bytes >= 4)
      blocks_meet(a, write ? "writes" : "reads");
    if (write)
      *w = now.block;
  }
}

inline void check_alignment(uintptr_t a, size_t bytes) {
  if (a % bytes != 0)
    stop(alignment, CUDA_ERROR_MISALIGNED_ADDRESS, text("accesses %zu bytes at %s, which is no multiple of that", bytes, describe(a).c_str()));
}

template <int Bytes>
inline void read_access(void *p) {
  const auto a = reinterpret_cast<uintptr_t>(p);
  if (on_device(a)) {
    check_alignment(a, Bytes);
    for (int i = 0; i < Bytes; i += 8)
      if (!fast_defined<(Bytes < 8 ? Bytes : 8)>(a + i))
        slow_device(a, Bytes, false);
    meet(a, Bytes, false);
  } else if (in_shared(a)) {
    check_alignment(a, Bytes);
    shared_access(a, Bytes, false, now.thread);
  } else {
    elsewhere(a, Bytes, false);
  }
}

template <int Bytes>
inline void write_access(void *p) {
  const auto a = reinterpret_cast<uintptr_t>(p);
  if (on_device(a)) {
    check_alignment(a, Bytes);
    for (int i = 0; i < Bytes; i += 8)
      if (!fast_defined<(Bytes < 8 ? Bytes : 8)>(a + i)) {
        slow_device(a, Bytes, true);
        break;
      }
    meet(a, Bytes, true);
  } else if (in_shared(a)) {
    check_alignment(a, Bytes);
    shared_access(a, Bytes, true, now.thread);
  } else {
    elsewhere(a, Bytes, true);
  }
}

// A structure, which moves in pieces of up to 16 bytes.
void range_access(void *p, size_t bytes, bool write) {
  const auto a = reinterpret_cast<uintptr_t>(p);
  if (on_device(a)) {
    slow_device(a, bytes, write);
    meet(a, bytes, write);
  } else if (in_shared(a))
    shared_access(a, bytes, write, now.thread);
  else
    elsewhere(a, bytes, write);
}

} // namespace

// The data of an asynchronous copy arrive in shared memory.
void arrive(uint32_t to, const void *from, int bytes) {
  const uintptr_t a = now.shared + to;
  auto *target = reinterpret_cast<char *>(a);
  memcpy(target, from, size_t(bytes));
  memset(target + bytes, 0, size_t(16 - bytes));
  for (Cell *c = cell(a); c <= cell(a + 15); c++)
    *c = {now.block, now.epoch, 0, now.thread, 0};
}

} // namespace cudasim

using namespace cudasim;

extern "C" {

uint32_t cudasim_shared_address(const void *p) {
  const auto a = reinterpret_cast<uintptr_t>(p);
  if (!in_shared(a))
    outside_of(a, 1, "takes as shared memory");
  return uint32_t(a - now.shared);
}

const void *cudasim_shared_read(uint32_t at, int bytes, int lane) {
  const uintptr_t a = now.shared + at;
  check_alignment(a, size_t(bytes));
  shared_access(a, size_t(bytes), false, uint16_t(now.thread / 32 * 32 + lane));
  return reinterpret_cast<const void *>(a);
}

void cudasim_copy_begin(uint32_t to, const void *from, int bytes) {
  const uintptr_t a = now.shared + to, source = reinterpret_cast<uintptr_t>(from);
  check_alignment(a, 16);
  if (bytes > 0) {
    check_alignment(source, 16);
    if (!on_device(source))
      outside_of(source, size_t(bytes), "copies");
    slow_device(source, size_t(bytes), false);
    meet(source, size_t(bytes), false);
  }
  shared_access(a, 16, true, now.thread);
  for (Cell *c = cell(a); c <= cell(a + 15); c++)
    c->block = on_its_way;
  memset(reinterpret_cast<void *>(a), 0xff, 16);
  begin_copy(to, from, bytes);
}

void __tsan_init(void) {}
void __tsan_read1(void *p) { read_access<1>(p); }
void __tsan_read2(void *p) { read_access<2>(p); }
void __tsan_read4(void *p) { read_access<4>(p); }
void __tsan_read8(void *p) { read_access<8>(p); }
void __tsan_read16(void *p) { read_access<16>(p); }
void __tsan_write1(void *p) { write_access<1>(p); }
void __tsan_write2(void *p) { write_access<2>(p); }
void __tsan_write4(void *p) { write_access<4>(p); }
void __tsan_write8(void *p) { write_access<8>(p); }
void __tsan_write16(void *p) { write_access<16>(p); }
void __tsan_read_range(void *p, size_t n) { range_access(p, n, false); }
void __tsan_write_range(void *p, size_t n) { range_access(p, n, true); }
}

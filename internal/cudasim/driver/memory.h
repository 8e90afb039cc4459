// Device memory: one reserved range of addresses, of which allocations take
// pages in order and never twice. Each byte of it has a byte of state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cudasim {

struct Context;

// The state of a byte. A byte of no allocation is zero, as fresh pages are.
// Memory filled with the byte 0xff, which is no number in any float type, is
// poisoned: the host may look at it, a kernel should not.
enum ByteState : uint8_t { outside = 0,
                           undefined = 1,
                           defined = 2,
                           poisoned = 3 };

constexpr uintptr_t device_bytes = uintptr_t(1) << 40;
extern uintptr_t device_base;

inline bool on_device(uintptr_t a) { return a - device_base < device_bytes; }
inline uint8_t *states(uintptr_t a) { return reinterpret_cast<uint8_t *>(a + device_bytes); }

// The block that wrote a word of four bytes last, numbered as Running::block.
inline uint32_t *writer(uintptr_t a) { return reinterpret_cast<uint32_t *>((a & ~uintptr_t(3)) + 2 * device_bytes); }

// Reserves the range; 0 or false means that there is no memory.
bool reserve_device_memory();
uintptr_t allocate(Context *owner, size_t bytes, const char *call);
bool release(uintptr_t address);
void release_all(Context *owner);

size_t memory_total();
size_t memory_used(); // by all contexts, in whole pages
size_t allocations(const Context *owner);

// The allocation that holds an address.
bool allocation_of(uintptr_t address, uintptr_t *base, size_t *bytes);

// Describes an address for a report, by the allocation that it is in, was in or is near.
std::string describe(uintptr_t address);

// Whether a range lies in one allocation.
bool inside(uintptr_t address, size_t bytes);
bool has(ByteState state, uintptr_t address, size_t bytes); // any byte in that state
void set_state(uintptr_t address, size_t bytes, ByteState state);

// Page-locked host memory.
void *allocate_pinned(Context *owner, size_t bytes);
bool release_pinned(void *memory);
void release_all_pinned(Context *owner);
bool is_pinned(const void *memory, size_t bytes);
size_t pinned_allocations(const Context *owner);

} // namespace cudasim

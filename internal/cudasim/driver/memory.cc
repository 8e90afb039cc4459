#include "memory.h"
#include "report.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>

namespace cudasim {

uintptr_t device_base = ~device_bytes;

namespace {

constexpr size_t page = 4096;
constexpr size_t remembered = 100000; // freed allocations that reports still know

struct Allocation {
  size_t bytes, number;
  Context *owner;
  const char *call;
  bool alive;
};

std::map<uintptr_t, Allocation> all; // by address
std::map<char *, std::pair<size_t, Context *>> pinned;
uintptr_t next_address;
size_t used, made;

size_t whole_pages(size_t bytes) { return (bytes + page - 1) / page * page; }

// The allocation at or below an address.
std::map<uintptr_t, Allocation>::iterator below(uintptr_t address) {
  auto i = all.upper_bound(address);
  return i == all.begin() ? all.end() : --i;
}

// Forgets the oldest freed allocation. Addresses grow, so it is the first dead one.
void forget() {
  for (auto i = all.begin(); i != all.end(); ++i)
    if (!i->second.alive) {
      all.erase(i);
      return;
    }
}

void discard(uintptr_t address, Allocation &a) {
  const size_t bytes = whole_pages(a.bytes);
  mprotect(reinterpret_cast<void *>(address), bytes, PROT_NONE);
  madvise(reinterpret_cast<void *>(address), bytes, MADV_DONTNEED);
  madvise(states(address), bytes, MADV_DONTNEED);
  madvise(writer(address), bytes, MADV_DONTNEED);
  used -= bytes;
  a.alive = false;
}

} // namespace

bool reserve_device_memory() {
  if (next_address != 0)
    return true;
  void *p = mmap(nullptr, 3 * device_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return false;
  device_base = reinterpret_cast<uintptr_t>(p);
  if (mprotect(states(device_base), 2 * device_bytes, PROT_READ | PROT_WRITE) != 0)
    return false;
  next_address = device_base + page;
  return true;
}

size_t memory_total() {
  const char *set = getenv("CUDASIM_MEMORY");
  return set != nullptr ? strtoull(set, nullptr, 10) : size_t(2) << 30;
}

size_t memory_used() { return used; }

uintptr_t allocate(Context *owner, size_t bytes, const char *call) {
  const size_t whole = whole_pages(bytes), total = memory_total();
  if (bytes > total || used + whole > total || next_address + whole + page > device_base + device_bytes)
    return 0;
  const uintptr_t address = next_address;
  if (mprotect(reinterpret_cast<void *>(address), whole, PROT_READ | PROT_WRITE) != 0)
    return 0;
  next_address += whole + page; // a page between two allocations belongs to none
  memset(reinterpret_cast<void *>(address), 0xff, bytes);
  memset(states(address), undefined, bytes);
  used += whole;
  if (all.size() >= remembered)
    forget();
  all[address] = {bytes, ++made, owner, call, true};
  return address;
}

bool release(uintptr_t address) {
  auto i = all.find(address);
  if (i == all.end() || !i->second.alive)
    return false;
  discard(address, i->second);
  return true;
}

void release_all(Context *owner) {
  for (auto &[address, a] : all)
    if (a.alive && a.owner == owner)
      discard(address, a);
}

size_t allocations(const Context *owner) {
  size_t n = 0;
  for (auto &[address, a] : all)
    n += a.alive && a.owner == owner;
  return n;
}

bool allocation_of(uintptr_t address, uintptr_t *base, size_t *bytes) {
  auto i = below(address);
  if (i == all.end() || !i->second.alive || address - i->first >= i->second.bytes)
    return false;
  *base = i->first;
  *bytes = i->second.bytes;
  return true;
}

std::string describe(uintptr_t address) {
  if (!on_device(address))
    return text("address 0x%zx, which is no device memory", size_t(address));
  auto i = below(address);
  if (i == all.end())
    return "an address below every allocation";
  const Allocation &a = i->second;
  const size_t offset = address - i->first;
  const char *state = !a.alive ? "freed " : "", *where = offset >= a.bytes ? ", past its end" : "";
  return text("byte %zu of %sallocation %zu (%zu bytes, %s)%s", offset, state, a.number, a.bytes, a.call, where);
}

bool inside(uintptr_t address, size_t bytes) {
  if (bytes == 0)
    return true;
  uintptr_t base;
  size_t size;
  return allocation_of(address, &base, &size) && address - base + bytes <= size;
}

bool has(ByteState state, uintptr_t address, size_t bytes) { return memchr(states(address), state, bytes) != nullptr; }

void set_state(uintptr_t address, size_t bytes, ByteState state) { memset(states(address), state, bytes); }

void *allocate_pinned(Context *owner, size_t bytes) {
  auto *p = static_cast<char *>(aligned_alloc(page, whole_pages(bytes == 0 ? 1 : bytes)));
  if (p != nullptr)
    pinned[p] = {bytes, owner};
  return p;
}

bool release_pinned(void *memory) {
  auto i = pinned.find(static_cast<char *>(memory));
  if (i == pinned.end())
    return false;
  memset(i->first, 0xdd, i->second.first); // a pending copy from it must show
  free(i->first);
  pinned.erase(i);
  return true;
}

void release_all_pinned(Context *owner) {
  for (auto i = pinned.begin(); i != pinned.end();)
    if (i->second.second == owner) {
      free(i->first);
      i = pinned.erase(i);
    } else {
      ++i;
    }
}

bool is_pinned(const void *memory, size_t bytes) {
  auto *p = static_cast<const char *>(memory);
  auto i = pinned.upper_bound(const_cast<char *>(p));
  if (i == pinned.begin())
    return false;
  --i;
  return size_t(p - i->first) + bytes <= i->second.first;
}

size_t pinned_allocations(const Context *owner) {
  size_t n = 0;
  for (auto &[p, a] : pinned)
    n += a.second == owner;
  return n;
}

} // namespace cudasim

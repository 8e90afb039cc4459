#include "fault.h"
#include "call.h"

#include <cstdlib>
#include <cstring>
#include <map>

namespace cudasim {

namespace {

struct Plan {
  std::string name;
  long k = 0;
  CUresult status = CUDA_SUCCESS;
  long matched = 0, all = 0;
  bool happened = false;
};

// CUDASIM_FAULT=cuMemAlloc:3:2 makes the third allocation fail with status 2.
Plan from_environment() {
  Plan p;
  const char *set = getenv("CUDASIM_FAULT");
  if (set == nullptr)
    return p;
  char name[64];
  int status = 0;
  if (sscanf(set, "%63[^:]:%ld:%d", name, &p.k, &status) != 3) {
    report("CUDASIM_FAULT: not of the form CALL:K:STATUS");
    return {};
  }
  p.name = name;
  p.status = CUresult(status);
  return p;
}

Plan &plan() {
  static Plan p = from_environment();
  return p;
}

std::map<std::string, long> &counts() {
  static std::map<std::string, long> c;
  return c;
}

// After these errors nothing on a device can be trusted.
bool sticky(CUresult r) {
  switch (r) {
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_ECC_UNCORRECTABLE:
    return true;
  default:
    return false;
  }
}

} // namespace

void plan_fault(const char *name, long k, int status) {
  plan() = Plan{name, k, CUresult(status)};
}

bool fault_happened() { return plan().happened; }
long calls_since_plan() { return plan().all; }

CUresult planned_fault(const char *name) {
  Plan &p = plan();
  p.all++;
  counts()[name]++;
  if (p.k == 0 || (p.name != "*" && p.name != name) || ++p.matched != p.k)
    return CUDA_SUCCESS;
  p.happened = true;
  if (sticky(p.status))
    if (const auto c = current())
      c->lost = p.status;
  return p.status;
}

} // namespace cudasim

using namespace cudasim;

// The entry points that only the simulator has. They count as no driver call.
extern "C" {

void cudasim_plan_fault(const char *name, long k, int status) {
  std::lock_guard<std::mutex> lock(machine);
  plan_fault(name, k, status);
}

int cudasim_fault_happened(void) {
  std::lock_guard<std::mutex> lock(machine);
  return fault_happened();
}

long cudasim_calls_since_plan(void) {
  std::lock_guard<std::mutex> lock(machine);
  return calls_since_plan();
}

// Calls of one entry point since the process began.
long cudasim_calls(const char *name) {
  std::lock_guard<std::mutex> lock(machine);
  return counts()[name];
}

// The reports so far, to be freed by the caller, and the end of them.
char *cudasim_reports(void) {
  std::lock_guard<std::mutex> lock(machine);
  return strdup(reports().c_str());
}

void cudasim_clear_reports(void) {
  std::lock_guard<std::mutex> lock(machine);
  clear_reports();
}

// What all contexts hold, to be freed by the caller; empty for nothing.
char *cudasim_alive(void) {
  std::lock_guard<std::mutex> lock(machine);
  std::string out;
  for (auto &c : contexts) {
    const std::string held = holdings(c.get());
    out += text("%scontext%s%s", out.empty() ? "" : "; ", held.empty() ? "" : " with ", held.c_str());
  }
  return strdup(out.c_str());
}

// Device memory in use, in bytes.
size_t cudasim_memory_used(void) {
  std::lock_guard<std::mutex> lock(machine);
  return memory_used();
}
}

void cudasim::watch_exit() {
  static const int registered = atexit([] {
    char *alive = cudasim_alive();
    if (*alive != 0)
      report(text("at exit: %s left alive", alive));
    free(alive);
  });
  (void)registered;
}

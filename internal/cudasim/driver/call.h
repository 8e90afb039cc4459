// What every entry point does first: take the lock, count the call, let the
// fault plan refuse it, and check thread, context and capture.
#pragma once

#include "machine.h"

namespace cudasim {

enum Rule : unsigned {
  anywhere = 0,
  initialises = 1 << 0,    // may come before cuInit
  in_context = 1 << 1,     // needs a current context that is not lost
  never_captured = 1 << 2, // breaks a capture of its thread, or of any thread in the global mode
  releases = 1 << 3,       // takes effect even if it is made to fail, as the driver's releases do
};

// Decides whether a call fails, and with what. Counts the call.
CUresult planned_fault(const char *name);

CUcontext current_handle();
std::shared_ptr<Context> current();
CUcontext handle_of(const Context *c);
std::shared_ptr<Context> context_of(CUcontext handle);

// Whether the capture rules refuse a call that a capture cannot hold. Breaks the capture.
CUresult refuse_while_capturing(const char *name);

// Checks what the rules demand.
CUresult check(const char *name, unsigned rules);

// Runs the body of an entry point under all of this.
template <class Body>
CUresult call(const char *name, unsigned rules, Body body) {
  std::lock_guard<std::mutex> lock(machine);
  const CUresult planned = planned_fault(name);
  if (planned != CUDA_SUCCESS && !(rules & releases))
    return planned;
  CUresult r = check(name, rules);
  if (r == CUDA_SUCCESS)
    r = body();
  return planned != CUDA_SUCCESS ? planned : r;
}

// The objects of handles. A stream of NULL is the legacy stream. The status
// tells of a destroyed handle, or of one that belongs to another context.
CUresult find_stream(CUstream handle, const char *call, Stream **stream, std::shared_ptr<Stream> *keep);
CUresult find_event(CUevent handle, const char *call, std::shared_ptr<Event> *event);

// Breaks the capture that a stream is in and gives the status.
CUresult break_capture(Stream *s, CUresult status);

} // namespace cudasim

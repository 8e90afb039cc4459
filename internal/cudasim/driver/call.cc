#include "call.h"

#include <algorithm>

namespace cudasim {

std::mutex machine;
std::set<std::shared_ptr<Context>> contexts;
std::vector<std::shared_ptr<Capture>> captures;
bool initialised;
thread_local std::vector<CUcontext> bound;

Table<Stream> streams("stream", 0x10000000);
Table<Event> events("event", 0x20000000);
Table<Module> modules("module", 0x30000000);
Table<Function> functions("function", 0x40000000);
Table<Graph> graphs("graph", 0x50000000);
Table<Recording> recordings("executable graph", 0x60000000);

CUcontext handle_of(const Context *c) { return reinterpret_cast<CUcontext>(const_cast<Context *>(c)); }

std::shared_ptr<Context> context_of(CUcontext handle) {
  auto i = std::find_if(contexts.begin(), contexts.end(), [&](auto &c) { return handle_of(c.get()) == handle; });
  return i == contexts.end() ? nullptr : *i;
}

CUcontext current_handle() { return bound.empty() ? nullptr : bound.back(); }

std::shared_ptr<Context> current() { return context_of(current_handle()); }

CUresult refuse_while_capturing(const char *name) {
  CUresult r = CUDA_SUCCESS;
  for (auto &c : captures) {
    const bool concerned = c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL || (c->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && c->thread == std::this_thread::get_id());
    if (!concerned)
      continue;
    report(text("%s: not allowed while a stream is capturing; the capture is broken", name));
    c->broken = true;
    r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return r;
}

CUresult check(const char *name, unsigned rules) {
  if (!initialised && !(rules & initialises))
    return CUDA_ERROR_NOT_INITIALIZED;
  if (rules & in_context) {
    const auto c = current();
    if (c == nullptr) {
      report(text("%s: no context is current on this thread: %s", name, bound.empty() ? "the call came from the wrong thread" : "it was destroyed"));
      return bound.empty() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    if (c->lost != CUDA_SUCCESS && !(rules & releases))
      return c->lost;
  }
  if (rules & never_captured)
    return refuse_while_capturing(name);
  return CUDA_SUCCESS;
}

CUresult find_stream(CUstream handle, const char *call, Stream **stream, std::shared_ptr<Stream> *keep) {
  const auto c = current();
  if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    for (auto &capture : captures)
      for (Stream *s : capture->streams)
        if (s->blocking && s->context == c.get()) {
          report(text("%s: use of the legacy stream while a stream that waits for it is capturing", call));
          capture->broken = true;
          return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    *stream = &c->legacy;
    return CUDA_SUCCESS;
  }
  *keep = streams.find(handle, call);
  if (*keep == nullptr)
    return CUDA_ERROR_INVALID_HANDLE;
  *stream = keep->get();
  if ((*stream)->context == c.get())
    return CUDA_SUCCESS;
  report(text("%s: the stream belongs to another context", call));
  return CUDA_ERROR_INVALID_HANDLE;
}

CUresult find_event(CUevent handle, const char *call, std::shared_ptr<Event> *event) {
  *event = events.find(handle, call);
  if (*event == nullptr)
    return CUDA_ERROR_INVALID_HANDLE;
  if ((*event)->context == current().get())
    return CUDA_SUCCESS;
  report(text("%s: the event belongs to another context", call));
  return CUDA_ERROR_INVALID_HANDLE;
}

CUresult break_capture(Stream *s, CUresult status) {
  s->capture->broken = true;
  return status;
}

std::string holdings(const Context *c) {
  std::string out;
  const auto add = [&](size_t n, const char *what) {
    if (n > 0)
      out += text("%s%zu %s", out.empty() ? "" : ", ", n, what);
  };
  add(allocations(c), "allocations");
  add(pinned_allocations(c), "page-locked allocations");
  add(streams.count_of(c), "streams");
  add(events.count_of(c), "events");
  add(modules.count_of(c), "modules");
  add(graphs.count_of(c), "graphs");
  add(recordings.count_of(c), "executable graphs");
  for (auto &capture : captures)
    add(capture->origin->context == c, "streams still capturing");
  return out;
}

void destroy_context(Context *c) {
  drop(c);
  captures.erase(std::remove_if(captures.begin(), captures.end(), [&](auto &capture) { return capture->origin->context == c; }), captures.end());
  events.remove_of(c);
  recordings.remove_of(c);
  graphs.remove_of(c);
  functions.remove_of(c);
  modules.remove_of(c);
  streams.remove_of(c);
  release_all(c);
  release_all_pinned(c);
  for (auto i = contexts.begin(); i != contexts.end(); ++i)
    if (i->get() == c) {
      contexts.erase(i);
      return;
    }
}

} // namespace cudasim

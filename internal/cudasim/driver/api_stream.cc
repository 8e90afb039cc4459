// Entry points: streams, events and capture.
#include "call.h"

#include <algorithm>

using namespace cudasim;

namespace {

CUresult make_stream(CUstream *stream, unsigned flags) {
  auto s = std::make_shared<Stream>();
  s->context = current().get();
  s->blocking = !(flags & CU_STREAM_NON_BLOCKING);
  s->context->streams.insert(s.get());
  *stream = streams.add<CUstream>(std::move(s));
  return CUDA_SUCCESS;
}

// Runs a body on the stream of a handle.
template <class Body>
CUresult with_stream(const char *name, CUstream handle, Body body) {
  Stream *s;
  std::shared_ptr<Stream> keep;
  const CUresult r = find_stream(handle, name, &s, &keep);
  return r == CUDA_SUCCESS ? body(s) : r;
}

CUresult wait_for_captured(Stream *s, const Event &e) {
  if (s->capture == nullptr) { // the stream joins the capture
    if (e.capture->broken)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (std::find(captures.begin(), captures.end(), e.capture) == captures.end())
      return CUDA_ERROR_INVALID_VALUE; // it has ended
    s->capture = e.capture;
    s->capture->streams.insert(s);
  }
  if (s->capture != e.capture)
    return break_capture(s, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  if (s->capture->broken)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  s->front.insert(e.front.begin(), e.front.end());
  return CUDA_SUCCESS;
}

CUresult wait_for(Stream *s, const Event &e) {
  if (e.capture != nullptr)
    return wait_for_captured(s, e);
  if (e.work == nullptr)
    return CUDA_SUCCESS; // never recorded
  if (s->capture != nullptr) {
    report("cuStreamWaitEvent: a capturing stream waits for work outside its capture");
    return break_capture(s, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  }
  Operation o;
  o.name = "cuStreamWaitEvent";
  if (!e.work->done)
    o.after.push_back(e.work);
  return enqueue(s, CU_GRAPH_NODE_TYPE_EMPTY, std::move(o));
}

CUresult record(const std::shared_ptr<Event> &e, Stream *s) {
  if (s->capture != nullptr) {
    if (s->capture->broken)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    e->capture = s->capture;
    e->front = s->front;
    return CUDA_SUCCESS;
  }
  Operation o;
  o.name = "cuEventRecord";
  o.run = [weak = std::weak_ptr<Event>(e)] {
    if (const auto event = weak.lock())
      event->milliseconds = device_milliseconds();
    return CUDA_SUCCESS;
  };
  const CUresult r = enqueue(s, CU_GRAPH_NODE_TYPE_EVENT_RECORD, std::move(o));
  e->capture = nullptr;
  e->work = s->last;
  return r;
}

// All nodes that others of a set come after, the set included.
std::set<size_t> ancestors(const Capture &c, const std::set<size_t> &of) {
  std::set<size_t> all = of;
  for (size_t i = c.nodes.size(); i-- > 0;)
    if (all.count(i))
      all.insert(c.nodes[i].after.begin(), c.nodes[i].after.end());
  return all;
}

bool joined(const Capture &c) {
  const auto before = ancestors(c, c.origin->front);
  return std::all_of(c.streams.begin(), c.streams.end(), [&](Stream *s) {
    return std::includes(before.begin(), before.end(), s->front.begin(), s->front.end());
  });
}

void end(const std::shared_ptr<Capture> &c) {
  for (Stream *s : c->streams) {
    s->capture = nullptr;
    s->front.clear();
  }
  captures.erase(std::find(captures.begin(), captures.end(), c));
}

CUresult end_capture(Stream *s, CUgraph *graph) {
  *graph = nullptr;
  const auto c = s->capture;
  if (c == nullptr)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (c->origin != s)
    return break_capture(s, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != std::this_thread::get_id()) {
    report("cuStreamEndCapture: called from another thread than the capture began on; the capture has ended");
    end(c);
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  const bool whole = joined(*c), broken = c->broken;
  end(c);
  if (broken)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!whole)
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  auto g = std::make_shared<Graph>();
  g->context = s->context;
  g->nodes = std::move(c->nodes);
  *graph = graphs.add<CUgraph>(std::move(g));
  return CUDA_SUCCESS;
}

} // namespace

extern "C" {

CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned flags) {
  return call("cuStreamCreate", in_context, [&] { return make_stream(stream, flags); });
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int) {
  return call("cuStreamCreateWithPriority", in_context, [&] { return make_stream(stream, flags); });
}

// Work on a destroyed stream still runs.
CUresult CUDAAPI cuStreamDestroy_v2(CUstream stream) {
  return call("cuStreamDestroy", in_context | releases, [&] {
    return with_stream("cuStreamDestroy", stream, [&](Stream *s) {
      if (stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
      if (s->capture != nullptr) {
        report("cuStreamDestroy: the stream is capturing; the capture is broken");
        const auto c = s->capture;
        c->broken = true;
        c->streams.erase(s);
        if (c->origin == s)
          end(c);
      }
      const CUresult r = finish_stream(s);
      s->context->streams.erase(s);
      streams.remove(stream);
      return r;
    });
  });
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
  return call("cuStreamSynchronize", in_context, [&] {
    return with_stream("cuStreamSynchronize", stream, [&](Stream *s) {
      if (s->capture == nullptr)
        return finish_stream(s);
      report("cuStreamSynchronize: the stream is capturing; the capture is broken");
      return break_capture(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    });
  });
}

CUresult CUDAAPI cuStreamQuery(CUstream stream) {
  return call("cuStreamQuery", in_context, [&] {
    return with_stream("cuStreamQuery", stream, [&](Stream *s) {
      if (s->capture != nullptr)
        return break_capture(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
      return finish_stream(s); // the device is infinitely fast when asked
    });
  });
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return call("cuStreamWaitEvent", in_context, [&] {
    return with_stream("cuStreamWaitEvent", stream, [&](Stream *s) {
      std::shared_ptr<Event> e;
      const CUresult r = find_event(event, "cuStreamWaitEvent", &e);
      return r == CUDA_SUCCESS ? wait_for(s, *e) : r;
    });
  });
}

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return call("cuStreamBeginCapture", in_context, [&] {
    return with_stream("cuStreamBeginCapture", stream, [&](Stream *s) {
      if (s == &s->context->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      if (s->capture != nullptr)
        return CUDA_ERROR_ILLEGAL_STATE;
      s->capture = std::make_shared<Capture>();
      s->capture->origin = s;
      s->capture->mode = mode;
      s->capture->thread = std::this_thread::get_id();
      s->capture->streams.insert(s);
      captures.push_back(s->capture);
      return CUDA_SUCCESS;
    });
  });
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  return call("cuStreamEndCapture", in_context | releases, [&] {
    return with_stream("cuStreamEndCapture", stream, [&](Stream *s) { return end_capture(s, graph); });
  });
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  return call("cuStreamIsCapturing", in_context, [&] {
    return with_stream("cuStreamIsCapturing", stream, [&](Stream *s) {
      *status = s->capture == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE : s->capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                                                                           : CU_STREAM_CAPTURE_STATUS_ACTIVE;
      return CUDA_SUCCESS;
    });
  });
}

CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned flags) {
  return call("cuEventCreate", in_context, [&] {
    auto e = std::make_shared<Event>();
    e->context = current().get();
    e->timed = !(flags & CU_EVENT_DISABLE_TIMING);
    *event = events.add<CUevent>(std::move(e));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent event) {
  return call("cuEventDestroy", in_context | releases, [&] {
    std::shared_ptr<Event> e;
    const CUresult r = find_event(event, "cuEventDestroy", &e);
    if (r == CUDA_SUCCESS)
      events.remove(event);
    return r == CUDA_SUCCESS ? current()->lost : r;
  });
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
  return call("cuEventRecord", in_context, [&] {
    return with_stream("cuEventRecord", stream, [&](Stream *s) {
      std::shared_ptr<Event> e;
      const CUresult r = find_event(event, "cuEventRecord", &e);
      return r == CUDA_SUCCESS ? record(e, s) : r;
    });
  });
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) {
  return call("cuEventSynchronize", in_context, [&] {
    std::shared_ptr<Event> e;
    const CUresult r = find_event(event, "cuEventSynchronize", &e);
    if (r != CUDA_SUCCESS)
      return r;
    if (e->capture == nullptr)
      return finish(e->work);
    e->capture->broken = true;
    return CUDA_ERROR_CAPTURED_EVENT;
  });
}

CUresult CUDAAPI cuEventQuery(CUevent event) {
  return call("cuEventQuery", in_context, [&] {
    std::shared_ptr<Event> e;
    const CUresult r = find_event(event, "cuEventQuery", &e);
    if (r != CUDA_SUCCESS)
      return r;
    if (e->capture == nullptr)
      return e->work == nullptr || e->work->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    e->capture->broken = true;
    return CUDA_ERROR_CAPTURED_EVENT;
  });
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  return call("cuEventElapsedTime", in_context, [&] {
    std::shared_ptr<Event> a, b;
    if (const CUresult r = find_event(begin, "cuEventElapsedTime", &a); r != CUDA_SUCCESS)
      return r;
    if (const CUresult r = find_event(end, "cuEventElapsedTime", &b); r != CUDA_SUCCESS)
      return r;
    if (!a->timed || !b->timed || a->work == nullptr || b->work == nullptr)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!a->work->done || !b->work->done)
      return CUDA_ERROR_NOT_READY;
    *milliseconds = float(b->milliseconds - a->milliseconds);
    return CUDA_SUCCESS;
  });
}
}

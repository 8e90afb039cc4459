// The objects behind the driver's handles, and the one lock that guards them.
#pragma once

#include "memory.h"
#include "report.h"

#include <cuda.h>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct cudasim_kernel;

namespace cudasim {

// One unit of work on a stream. It runs when something waits for it, or for
// work that depends on it: never earlier, so that a missing wait is seen.
struct Operation {
  std::string name;
  std::function<CUresult()> run;
  std::vector<std::shared_ptr<Operation>> after;
  const void *host = nullptr; // page-locked memory that it will read or write
  size_t host_bytes = 0;
  bool done = false;
  Context *context = nullptr;
};
using Work = std::shared_ptr<Operation>;

struct Image; // a loaded kernel image

struct Module {
  Context *context;
  std::shared_ptr<Image> image;
};

struct Function {
  Context *context;
  std::shared_ptr<Image> image;
  const cudasim_kernel *kernel;
  int dynamic_limit = 48 << 10; // bytes of dynamic shared memory that a launch may ask for
};

struct Node {
  CUgraphNodeType type;
  std::string name;
  std::function<CUresult()> run;
  std::vector<size_t> after; // earlier nodes
};

struct Graph {
  Context *context;
  std::vector<Node> nodes;
  std::vector<CUgraphNode> handles; // made when asked for
};

struct Recording { // of which a CUgraphExec is the handle
  Context *context;
  std::shared_ptr<const std::vector<Node>> nodes;
};

struct Stream;

// A capture under way.
struct Capture {
  Stream *origin;
  CUstreamCaptureMode mode;
  std::thread::id thread;
  bool broken = false;
  std::vector<Node> nodes;
  std::set<Stream *> streams;
};

struct Stream {
  Context *context;
  bool blocking; // orders itself with the legacy stream
  std::deque<Work> queue;
  Work last;
  std::shared_ptr<Capture> capture;
  std::set<size_t> front; // while capturing: the nodes that the next one follows
};

struct Event {
  Context *context;
  bool timed;
  Work work; // recorded last, nullptr for never
  std::shared_ptr<Capture> capture;
  std::set<size_t> front;
  double milliseconds = 0; // on the clock of the simulated device, once it happened
};

struct Context {
  bool primary = false;
  unsigned flags = 0;
  CUresult lost = CUDA_SUCCESS; // the sticky error after which nothing works
  Stream legacy;
  std::set<Stream *> streams; // without the legacy stream
};

// Handles are numbers that are never used twice, so that a stale one is known.
template <class T>
class Table {
public:
  Table(const char *kind, uintptr_t first) : kind(kind), first(first), next(first) {}

  template <class Handle>
  Handle add(std::shared_ptr<T> object) {
    next += 16;
    live[next] = std::move(object);
    return reinterpret_cast<Handle>(next);
  }

  // The object of a handle, nullptr with a report when there is none.
  std::shared_ptr<T> find(const void *handle, const char *call) const {
    auto i = live.find(reinterpret_cast<uintptr_t>(handle));
    if (i != live.end())
      return i->second;
    const auto h = reinterpret_cast<uintptr_t>(handle);
    if (handle != nullptr)
      report(text("%s: %s %s", call, h > first && h <= next ? "destroyed" : "no such", kind));
    return nullptr;
  }

  void remove(const void *handle) { live.erase(reinterpret_cast<uintptr_t>(handle)); }

  // Removes all objects of a context and gives their number.
  size_t remove_of(const Context *c) {
    size_t n = 0;
    for (auto i = live.begin(); i != live.end();)
      if (i->second->context == c) {
        i = live.erase(i);
        n++;
      } else {
        ++i;
      }
    return n;
  }

  size_t count_of(const Context *c) const {
    size_t n = 0;
    for (auto &entry : live)
      n += entry.second->context == c;
    return n;
  }

private:
  const char *kind;
  uintptr_t first, next;
  std::unordered_map<uintptr_t, std::shared_ptr<T>> live;
};

extern Table<Stream> streams;
extern Table<Event> events;
extern Table<Module> modules;
extern Table<Function> functions;
extern Table<Graph> graphs;
extern Table<Recording> recordings;

extern std::mutex machine; // held by every call
extern std::set<std::shared_ptr<Context>> contexts;
extern std::vector<std::shared_ptr<Capture>> captures; // under way
extern bool initialised;

// The contexts bound to a thread; the last is current.
extern thread_local std::vector<CUcontext> bound;

// Ends a context and all that it holds.
void destroy_context(Context *c);

// What a context holds, for a report; empty when that is nothing.
std::string holdings(const Context *c);

// --- order.cc: when work runs

// Whether the orders of blocks, threads and streams are shuffled, and a number
// below n from the generator of the shuffled order.
bool shuffled();
size_t random_below(size_t n);

// Appends work to a stream, or a node to the capture that the stream is in.
CUresult enqueue(Stream *s, CUgraphNodeType type, Operation operation);

extern Context *running; // whose work runs now

// Runs what is needed until work is done; its own failure or that of work before it.
CUresult finish(const Work &work);
CUresult finish_stream(Stream *s);
CUresult finish_context(Context *c);

// Work of a context that still has to read or write host memory.
std::string pending_on_host(const void *memory, size_t bytes);

// Drops the work of a context without running it.
void drop(Context *c);

double device_milliseconds();

// Marks a context as lost and tells the reason once.
CUresult lose(Context *c, CUresult status, const std::string &why);

} // namespace cudasim

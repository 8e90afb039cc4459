// The order of work: streams as queues, with edges between them from events.
#include "machine.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>

namespace cudasim {

namespace {

constexpr size_t most_pending = 1 << 16; // then the oldest runs without being waited for

struct Order {
  bool shuffle = false;
  std::mt19937_64 generator;
  Order() {
    const char *set = getenv("CUDASIM_ORDER"); // a seed; unset, empty or "fixed" for the fixed order
    shuffle = set != nullptr && *set != 0 && strcmp(set, "fixed") != 0;
    if (shuffle)
      generator.seed(strtoull(set, nullptr, 10));
  }
};

Order &order() {
  static Order o;
  return o;
}

// All streams with work, in the order in which their oldest work was issued.
std::deque<std::pair<Stream *, Work>> issued;

void advance(Work &w) {
  w->after.clear();
  w->run = nullptr;
  w->done = true;
}

CUresult execute(Work w) {
  CUresult r = CUDA_SUCCESS;
  running = w->context;
  if (w->context->lost != CUDA_SUCCESS)
    r = w->context->lost;
  else if (w->run)
    r = w->run();
  advance(w);
  return r;
}

bool ready(const Work &w) {
  return std::all_of(w->after.begin(), w->after.end(), [](const Work &a) { return a->done; });
}

void remove_head(Stream *s) {
  Work w = s->queue.front();
  s->queue.pop_front();
  auto i = std::find_if(issued.begin(), issued.end(), [&](auto &entry) { return entry.second == w; });
  issued.erase(i);
}

// The stream whose head runs next: the oldest, or any that is ready.
Stream *choose() {
  if (!shuffled())
    return issued.front().first;
  std::vector<Stream *> candidates;
  for (auto &[stream, work] : issued)
    if (stream->queue.front() == work && ready(work))
      candidates.push_back(stream);
  return candidates[random_below(candidates.size())];
}

CUresult run_one() {
  Stream *s = choose();
  Work w = s->queue.front();
  remove_head(s);
  return execute(w);
}

void depend(Operation &o, const Work &on) {
  if (on != nullptr && !on->done)
    o.after.push_back(on);
}

} // namespace

Context *running;

bool shuffled() { return order().shuffle; }
size_t random_below(size_t n) { return order().generator() % n; }

static CUresult capture_node(Stream *s, CUgraphNodeType type, Operation &o) {
  Capture &c = *s->capture;
  if (c.broken)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  c.nodes.push_back({type, o.name, o.run, {s->front.begin(), s->front.end()}});
  s->front = {c.nodes.size() - 1};
  return CUDA_SUCCESS;
}

CUresult enqueue(Stream *s, CUgraphNodeType type, Operation operation) {
  if (s->capture != nullptr)
    return capture_node(s, type, operation);
  Context *c = s->context;
  operation.context = c;
  depend(operation, s->last);
  if (s == &c->legacy) {
    for (Stream *other : c->streams)
      if (other->blocking)
        depend(operation, other->last);
  } else if (s->blocking) {
    depend(operation, c->legacy.last);
  }
  s->last = std::make_shared<Operation>(std::move(operation));
  s->queue.push_back(s->last);
  issued.emplace_back(s, s->last);
  CUresult r = CUDA_SUCCESS;
  while (issued.size() > most_pending && r == CUDA_SUCCESS)
    r = run_one();
  return r;
}

CUresult finish(const Work &work) {
  CUresult r = CUDA_SUCCESS;
  while (work != nullptr && !work->done)
    if (const CUresult one = run_one(); r == CUDA_SUCCESS)
      r = one;
  return r;
}

CUresult finish_stream(Stream *s) {
  const CUresult r = finish(s->last);
  return r != CUDA_SUCCESS ? r : s->context->lost;
}

CUresult finish_context(Context *c) {
  CUresult r = finish(c->legacy.last);
  for (Stream *s : c->streams)
    if (const CUresult one = finish(s->last); r == CUDA_SUCCESS)
      r = one;
  return r != CUDA_SUCCESS ? r : c->lost;
}

std::string pending_on_host(const void *memory, size_t bytes) {
  auto *first = static_cast<const char *>(memory);
  for (auto &[stream, work] : issued) {
    auto *h = static_cast<const char *>(work->host);
    if (h != nullptr && h < first + bytes && first < h + work->host_bytes)
      return work->name;
  }
  return "";
}

void drop(Context *c) {
  for (auto &[stream, work] : issued)
    if (work->context == c)
      advance(work);
  issued.erase(std::remove_if(issued.begin(), issued.end(), [&](auto &entry) { return entry.second->context == c; }), issued.end());
  c->legacy.queue.clear();
  for (Stream *s : c->streams)
    s->queue.clear();
}

double device_milliseconds() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

CUresult lose(Context *c, CUresult status, const std::string &why) {
  report(why);
  if (c->lost == CUDA_SUCCESS)
    c->lost = status;
  return status;
}

} // namespace cudasim

// Entry points: graphs, their nodes, and executable graphs.
#include "call.h"

using namespace cudasim;

namespace {

// A node's handle: which graph, which node.
struct NodeHandle {
  CUgraph graph;
  size_t index;
};

std::unordered_map<uintptr_t, NodeHandle> nodes; // handles of the graphs alive
uintptr_t next_node = 0x70000000;

void list_nodes(CUgraph handle, Graph &g) {
  if (!g.handles.empty())
    return;
  for (size_t i = 0; i < g.nodes.size(); i++) {
    next_node += 16;
    nodes[next_node] = {handle, i};
    g.handles.push_back(reinterpret_cast<CUgraphNode>(next_node));
  }
}

// The nodes in an order that their edges allow: as captured, or any.
std::vector<size_t> schedule(const std::vector<Node> &list) {
  std::vector<size_t> order, open;
  std::vector<bool> done(list.size());
  if (!shuffled()) {
    for (size_t i = 0; i < list.size(); i++)
      order.push_back(i);
    return order;
  }
  std::vector<size_t> missing(list.size());
  std::vector<std::vector<size_t>> next(list.size());
  for (size_t i = 0; i < list.size(); i++) {
    missing[i] = list[i].after.size();
    for (size_t a : list[i].after)
      next[a].push_back(i);
    if (missing[i] == 0)
      open.push_back(i);
  }
  while (!open.empty()) {
    std::swap(open[random_below(open.size())], open.back());
    const size_t i = open.back();
    open.pop_back();
    order.push_back(i);
    for (size_t n : next[i])
      if (--missing[n] == 0)
        open.push_back(n);
  }
  return order;
}

CUresult run_nodes(const std::vector<Node> &list) {
  for (size_t i : schedule(list))
    if (const CUresult r = list[i].run ? list[i].run() : CUDA_SUCCESS; r != CUDA_SUCCESS)
      return r;
  return CUDA_SUCCESS;
}

CUresult instantiate(CUgraphExec *exec, CUgraph graph) {
  const auto g = graphs.find(graph, "cuGraphInstantiate");
  if (g == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  auto r = std::make_shared<Recording>();
  r->context = g->context;
  r->nodes = std::make_shared<const std::vector<Node>>(g->nodes);
  *exec = recordings.add<CUgraphExec>(std::move(r));
  return CUDA_SUCCESS;
}

// Enqueues something on a stream on behalf of an executable graph.
CUresult enqueue_on(const char *name, CUgraphExec exec, CUstream stream, bool run) {
  const auto r = recordings.find(exec, name);
  if (r == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  Stream *s;
  std::shared_ptr<Stream> keep;
  if (const CUresult status = find_stream(stream, name, &s, &keep); status != CUDA_SUCCESS)
    return status;
  if (s->capture != nullptr)
    return break_capture(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  Operation o;
  o.name = name;
  if (run)
    o.run = [list = r->nodes] { return run_nodes(*list); };
  return enqueue(s, CU_GRAPH_NODE_TYPE_GRAPH, std::move(o));
}

} // namespace

extern "C" {

CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode *list, size_t *count) {
  return call("cuGraphGetNodes", in_context, [&] {
    const auto g = graphs.find(graph, "cuGraphGetNodes");
    if (g == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    list_nodes(graph, *g);
    if (list != nullptr)
      for (size_t i = 0; i < *count; i++)
        list[i] = i < g->handles.size() ? g->handles[i] : nullptr;
    if (list == nullptr || *count > g->handles.size())
      *count = g->handles.size();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
  return call("cuGraphNodeGetType", in_context, [&] {
    auto i = nodes.find(reinterpret_cast<uintptr_t>(node));
    if (i == nodes.end())
      return CUDA_ERROR_INVALID_VALUE;
    *type = graphs.find(i->second.graph, "cuGraphNodeGetType")->nodes[i->second.index].type;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
  return call("cuGraphDestroy", in_context | releases, [&] {
    const auto g = graphs.find(graph, "cuGraphDestroy");
    if (g == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    for (CUgraphNode n : g->handles)
      nodes.erase(reinterpret_cast<uintptr_t>(n));
    graphs.remove(graph);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long) {
  return call("cuGraphInstantiateWithFlags", in_context | never_captured, [&] { return instantiate(exec, graph); });
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return call("cuGraphUpload", in_context, [&] { return enqueue_on("cuGraphUpload", exec, stream, false); });
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return call("cuGraphLaunch", in_context, [&] { return enqueue_on("cuGraphLaunch", exec, stream, true); });
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec) {
  return call("cuGraphExecDestroy", in_context | never_captured | releases, [&] {
    if (recordings.find(exec, "cuGraphExecDestroy") == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    recordings.remove(exec);
    return current()->lost;
  });
}
}

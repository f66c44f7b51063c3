#include "planner/profile/host/hwloc_topology.h"

#include <hwloc.h>

#include <memory>
#include <type_traits>

#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using OwnedTopology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

absl::Status NothingFound(std::string_view what) {
  return absl::UnavailableError(StrCat("hwloc does not tell how this machine is built: ", what));
}

// 0 where there are none, or where there are several levels of them.
int64_t CountOf(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int count = hwloc_get_nbobjs_by_type(topology, type);
  return count > 0 ? count : 0;
}

Bytes CacheBytes(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const hwloc_obj_t first = hwloc_get_obj_by_type(topology, type, 0);
  return first == nullptr || first->attr == nullptr ? 0_B : Bytes(first->attr->cache.size);
}

NumaNode NodeOf(hwloc_topology_t topology, hwloc_obj_t node) {
  const auto inside = [&](hwloc_obj_type_t type) -> int64_t {
    const int count = hwloc_get_nbobjs_inside_cpuset_by_type(topology, node->cpuset, type);
    return count > 0 ? count : 0;
  };
  return {.number = node->os_index == HWLOC_UNKNOWN_INDEX ? node->logical_index : node->os_index,
          .memory_bytes = node->attr == nullptr ? 0_B : Bytes(node->attr->numanode.local_memory),
          .cores = inside(HWLOC_OBJ_CORE),
          .hardware_threads = inside(HWLOC_OBJ_PU)};
}

}  // namespace

absl::StatusOr<HostTopology> ReadHwlocTopology(const std::string& synthetic) {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return NothingFound("it cannot begin");
  const OwnedTopology owned(made);
  hwloc_topology_t topology = owned.get();
  if (!synthetic.empty() && hwloc_topology_set_synthetic(topology, synthetic.c_str()) != 0) {
    return absl::InvalidArgumentError(
        StrCat("hwloc does not understand the machine ", Quoted(synthetic)));
  }
  // What a control group hides from this process is part of the machine all the same.
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(topology) != 0) return NothingFound("it cannot read it");
  if (synthetic.empty() && hwloc_topology_is_thissystem(topology) == 0) {
    return NothingFound("its environment variables name another one");
  }
  HostTopology found{.sockets = CountOf(topology, HWLOC_OBJ_PACKAGE),
                     .cores = CountOf(topology, HWLOC_OBJ_CORE),
                     .hardware_threads = CountOf(topology, HWLOC_OBJ_PU),
                     .l2_bytes = CacheBytes(topology, HWLOC_OBJ_L2CACHE),
                     .l3_bytes = CacheBytes(topology, HWLOC_OBJ_L3CACHE),
                     .l3_caches = CountOf(topology, HWLOC_OBJ_L3CACHE)};
  for (hwloc_obj_t node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, nullptr);
       node != nullptr; node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) {
    found.nodes.push_back(NodeOf(topology, node));
  }
  if (found.hardware_threads == 0 || found.nodes.empty()) {
    return NothingFound("there are no processors in what it found");
  }
  // Some virtual machines tell of threads alone.
  if (found.cores == 0) found.cores = found.hardware_threads;
  if (found.sockets == 0) found.sockets = 1;
  return found;
}

}  // namespace horizon

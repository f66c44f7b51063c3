#include "planner/profile/host/host_topology.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "planner/profile/host/hwloc_topology.h"
#include "planner/profile/host/proc_text.h"

namespace horizon {
namespace {

constexpr uint64_t kMostCacheBytes = uint64_t{1} << 40;

// "32768K" or "1M".
Bytes CacheSize(std::string_view text) {
  const uint64_t number = NumberAt(text).value_or(0);
  const size_t unit = text.find_first_not_of("0123456789");
  const char letter = unit == std::string_view::npos ? '\n' : text[unit];
  const int shift = letter == 'K' ? 10 : letter == 'M' ? 20 : letter == 'G' ? 30 : 0;
  return number > (kMostCacheBytes >> shift) ? 0_B : Bytes(number << shift);
}

class SysReader {
 public:
  SysReader(Io& io, const std::string& root) : io_(io), root_(root) {}

  absl::StatusOr<HostTopology> Read() {
    const std::string online_path = root_ + "/sys/devices/system/cpu/online";
    ASSIGN_OR_RETURN(const std::string online, Text(online_path));
    const std::vector<int64_t> processors = NumbersOfList(online);
    if (processors.empty()) {
      return absl::InvalidArgumentError(StrCat(online_path, " names no processors"));
    }
    for (const int64_t processor : processors) RETURN_IF_ERROR(ReadProcessor(processor));
    HostTopology topology{.sockets = static_cast<int64_t>(sockets_.size()),
                          .cores = static_cast<int64_t>(Cores(processors)),
                          .hardware_threads = static_cast<int64_t>(processors.size()),
                          .l2_bytes = l2_bytes_,
                          .l3_bytes = l3_bytes_,
                          .l3_caches = static_cast<int64_t>(l3_shared_.size())};
    ASSIGN_OR_RETURN(topology.nodes, ReadNodes(processors));
    return topology;
  }

 private:
  absl::StatusOr<std::string> Text(const std::string& path) {
    ASSIGN_OR_RETURN(std::optional<std::string> text, ReadIfThere(io_, path));
    return std::move(text).value_or("");
  }

  absl::Status ReadProcessor(int64_t processor) {
    const std::string folder = StrCat(root_, "/sys/devices/system/cpu/cpu", processor);
    ASSIGN_OR_RETURN(const std::string socket, Text(folder + "/topology/physical_package_id"));
    ASSIGN_OR_RETURN(const std::string siblings, Text(folder + "/topology/thread_siblings_list"));
    // Some virtual machines say -1.
    sockets_.insert(NumberAt(socket).value_or(0));
    // A core is named by the threads that share it.
    core_of_[processor] = siblings.empty() ? StrCat(processor) : std::string(TrimmedText(siblings));
    ASSIGN_OR_RETURN(const std::vector<std::string> caches, ListIfThere(io_, folder + "/cache"));
    for (const int64_t index : NumbersOfNames(caches, "index")) {
      RETURN_IF_ERROR(ReadCache(StrCat(folder, "/cache/index", index)));
    }
    return absl::OkStatus();
  }

  absl::Status ReadCache(const std::string& folder) {
    ASSIGN_OR_RETURN(const std::string level, Text(folder + "/level"));
    ASSIGN_OR_RETURN(const std::string size, Text(folder + "/size"));
    if (NumberAt(level) == uint64_t{2}) l2_bytes_ = CacheSize(size);
    if (NumberAt(level) != uint64_t{3}) return absl::OkStatus();
    l3_bytes_ = CacheSize(size);
    ASSIGN_OR_RETURN(const std::string shared, Text(folder + "/shared_cpu_list"));
    l3_shared_.insert(shared);
    return absl::OkStatus();
  }

  size_t Cores(const std::vector<int64_t>& processors) const {
    std::set<std::string> cores;
    for (const int64_t processor : processors) {
      const auto found = core_of_.find(processor);
      if (found != core_of_.end()) cores.insert(found->second);
    }
    return cores.size();
  }

  absl::StatusOr<std::vector<NumaNode>> ReadNodes(const std::vector<int64_t>& processors) {
    const std::string folder = root_ + "/sys/devices/system/node";
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListIfThere(io_, folder));
    std::vector<NumaNode> nodes;
    for (const int64_t number : NumbersOfNames(names, "node")) {
      const std::string node = StrCat(folder, "/node", number);
      ASSIGN_OR_RETURN(const std::string list, Text(node + "/cpulist"));
      ASSIGN_OR_RETURN(const std::string memory, Text(node + "/meminfo"));
      const std::vector<int64_t> own = NumbersOfList(list);
      nodes.push_back({.number = number,
                       .memory_bytes = TotalOf(memory, StrCat("Node ", number, " MemTotal")),
                       .cores = static_cast<int64_t>(Cores(own)),
                       .hardware_threads = static_cast<int64_t>(own.size())});
    }
    if (!nodes.empty()) return nodes;
    ASSIGN_OR_RETURN(const std::string memory, Text(root_ + "/proc/meminfo"));
    nodes.push_back({.memory_bytes = TotalOf(memory, "MemTotal"),
                     .cores = static_cast<int64_t>(Cores(processors)),
                     .hardware_threads = static_cast<int64_t>(processors.size())});
    return nodes;
  }

  static Bytes TotalOf(std::string_view text, std::string_view name) {
    const std::optional<std::string_view> line = LineOf(text, name);
    const Bytes bytes = 1_KiB * (line ? NumberAt(*line).value_or(0) : 0);
    return bytes.ok() ? bytes : 0_B;
  }

  Io& io_;
  const std::string& root_;
  std::set<uint64_t> sockets_;
  std::map<int64_t, std::string> core_of_;  // by hardware thread
  Bytes l2_bytes_;
  Bytes l3_bytes_;
  std::set<std::string> l3_shared_;
};

}  // namespace

absl::StatusOr<HostTopology> ReadSysTopology(Io& io, const std::string& root) {
  return SysReader(io, root).Read();
}

absl::StatusOr<HostTopology> ReadHostTopology(Io& io) {
  absl::StatusOr<HostTopology> found = ReadHwlocTopology();
  return found.ok() ? std::move(found) : ReadSysTopology(io);
}

}  // namespace horizon

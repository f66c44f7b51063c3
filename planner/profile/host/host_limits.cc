#include "planner/profile/host/host_limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "planner/profile/host/proc_text.h"

namespace horizon {
namespace {

// Version 1 writes "no limit" as the largest multiple of a page; nothing real is near it.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

absl::StatusOr<Bytes> MemoryLine(const std::string& path, std::string_view text,
                                 std::string_view name) {
  const std::optional<std::string_view> line = LineOf(text, name);
  const std::optional<uint64_t> number = line ? NumberAt(*line) : std::nullopt;
  const Bytes bytes = number ? 1_KiB * *number : Bytes();
  if (!number || !bytes.ok() || bytes == 0_B) {
    return absl::InvalidArgumentError(StrCat(path, " has no line \"", name, ": N kB\""));
  }
  return bytes;
}

// The folders of a control group, from its own up to the root of the mount. A container may show a
// path that is not below its mount: those folders are missing, and the root still counts.
std::vector<std::string> FoldersUp(const std::string& mount, std::string_view path) {
  std::vector<std::string> folders;
  while (!path.empty() && path != "/") {
    folders.push_back(StrCat(mount, path));
    path = path.substr(0, path.rfind('/'));
  }
  folders.push_back(mount);
  return folders;
}

// Where the control groups that count memory and processor time have their folders.
struct GroupFolders {
  std::vector<std::string> version2;
  std::vector<std::string> memory;  // version 1
  std::vector<std::string> cpu;     // version 1
};

GroupFolders FindGroups(const std::string& root, std::string_view text) {
  const std::string mount = StrCat(root, "/sys/fs/cgroup");
  GroupFolders groups;
  // Lines "NUMBER:CONTROLLERS:PATH"; version 2 has no controllers.
  for (const std::string_view line : SplitText(text, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (controllers.empty()) groups.version2 = FoldersUp(mount, path);
    for (const std::string_view controller : SplitText(controllers, ',')) {
      if (controller == "memory") groups.memory = FoldersUp(mount + "/memory", path);
      if (controller == "cpu") {
        groups.cpu = FoldersUp(mount + "/cpu", path);
        // Mounted together with others, and not everywhere a link leads there by the one name.
        const std::vector<std::string> shared = FoldersUp(StrCat(mount, "/", controllers), path);
        groups.cpu.insert(groups.cpu.end(), shared.begin(), shared.end());
      }
    }
  }
  return groups;
}

// The names of what a control group says of its memory; an empty one is none.
struct GroupNames {
  std::array<std::string_view, 2> limits;
  std::string_view use;
  std::array<std::string_view, 2> file_cache;  // lines of memory.stat
};
// Above `high` a process is not ended, but held up until it gives memory back.
constexpr GroupNames kVersion2 = {.limits = {"memory.max", "memory.high"},
                                  .use = "memory.current",
                                  .file_cache = {"inactive_file", "active_file"}};
constexpr GroupNames kVersion1 = {.limits = {"memory.limit_in_bytes"},
                                  .use = "memory.usage_in_bytes",
                                  .file_cache = {"total_inactive_file", "total_active_file"}};

Bytes Less(Bytes from, Bytes taken) { return from > taken ? from - taken : 0_B; }

void Lower(std::optional<Bytes>& least, Bytes bytes) {
  least = std::min(least.value_or(bytes), bytes);
}

class LimitReader {
 public:
  explicit LimitReader(Io& io) : io_(io) {}

  absl::Status TakeMemory(const std::string& folder, const GroupNames& names, HostLimits& limits) {
    std::optional<Bytes> limit;
    for (const std::string_view name : names.limits) {
      if (name.empty()) continue;
      ASSIGN_OR_RETURN(const std::optional<uint64_t> number, ReadNumber(StrCat(folder, "/", name)));
      if (number && *number > 0 && *number < kNoLimit) Lower(limit, Bytes(*number));
    }
    if (!limit) return absl::OkStatus();
    Lower(limits.cgroup_memory, *limit);
    ASSIGN_OR_RETURN(const std::optional<uint64_t> use, ReadNumber(StrCat(folder, "/", names.use)));
    if (!use || *use >= kNoLimit) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::optional<std::string> statistics,
                     ReadIfThere(io_, folder + "/memory.stat"));
    Bytes cache = 0_B;
    for (const std::string_view name : names.file_cache) {
      const std::optional<std::string_view> line =
          statistics ? LineOf(*statistics, name) : std::nullopt;
      const uint64_t number = line ? NumberAt(*line).value_or(0) : 0;
      if (number < kNoLimit) cache += Bytes(number);
    }
    Lower(limits.cgroup_free, Less(*limit, Less(Bytes(*use), cache)));
    return absl::OkStatus();
  }

  // "QUOTA PERIOD" or "max PERIOD".
  absl::Status TakeQuota(const std::string& path, std::optional<double>& least) {
    ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadIfThere(io_, path));
    if (!text) return absl::OkStatus();
    const std::vector<std::string_view> parts = SplitText(TrimmedText(*text), ' ');
    if (parts.size() == 2) LowerCores(NumberAt(parts[0]), NumberAt(parts[1]), least);
    return absl::OkStatus();
  }

  absl::Status TakeOldQuota(const std::string& folder, std::optional<double>& least) {
    ASSIGN_OR_RETURN(const std::optional<std::string> quota,
                     ReadIfThere(io_, folder + "/cpu.cfs_quota_us"));
    ASSIGN_OR_RETURN(const std::optional<std::string> period,
                     ReadIfThere(io_, folder + "/cpu.cfs_period_us"));
    if (quota && period) LowerCores(NumberAt(*quota), NumberAt(*period), least);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::optional<uint64_t>> ReadNumber(const std::string& path) {
    ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadIfThere(io_, path));
    return text ? NumberAt(*text) : std::nullopt;
  }
  static void LowerCores(std::optional<uint64_t> quota, std::optional<uint64_t> period,
                         std::optional<double>& least) {
    if (!quota || !period || *quota == 0 || *period == 0) return;
    const double cores = static_cast<double>(*quota) / static_cast<double>(*period);
    least = std::min(least.value_or(cores), cores);
  }

  Io& io_;
};

absl::Status TakeGroups(Io& io, const std::string& root, HostLimits& limits) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text,
                   ReadIfThere(io, root + "/proc/self/cgroup"));
  if (!text) return absl::OkStatus();
  const GroupFolders groups = FindGroups(root, *text);
  LimitReader reader(io);
  for (const std::string& folder : groups.version2) {
    RETURN_IF_ERROR(reader.TakeMemory(folder, kVersion2, limits));
    RETURN_IF_ERROR(reader.TakeQuota(folder + "/cpu.max", limits.quota_cores));
  }
  for (const std::string& folder : groups.memory) {
    RETURN_IF_ERROR(reader.TakeMemory(folder, kVersion1, limits));
  }
  for (const std::string& folder : groups.cpu) {
    RETURN_IF_ERROR(reader.TakeOldQuota(folder, limits.quota_cores));
  }
  return absl::OkStatus();
}

absl::Status TakeOwnLimits(Io& io, const std::string& root, HostLimits& limits) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text,
                   ReadIfThere(io, root + "/proc/self/limits"));
  const auto soft = [&](std::string_view name) -> std::optional<Bytes> {
    const std::optional<std::string_view> line = text ? LineOf(*text, name) : std::nullopt;
    const std::optional<uint64_t> number = line ? NumberAt(*line) : std::nullopt;
    return number ? std::optional<Bytes>(Bytes(*number)) : std::nullopt;
  };
  limits.memlock = soft("Max locked memory");
  limits.address_space = soft("Max address space");
  limits.data_segment = soft("Max data size");
  return absl::OkStatus();
}

// "always [madvise] never": the word in brackets.
HugePageMode ModeOf(std::string_view text) {
  const size_t begin = text.find('[');
  const size_t end = text.find(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return HugePageMode::kUnknown;
  }
  const absl::StatusOr<HugePageMode> mode =
      ParseWord<HugePageMode>(text.substr(begin + 1, end - begin - 1));
  return mode.value_or(HugePageMode::kUnknown);
}

absl::Status TakeHugePages(Io& io, const std::string& root, HostLimits& limits) {
  const std::string folder = root + "/sys/kernel/mm";
  ASSIGN_OR_RETURN(const std::optional<std::string> mode,
                   ReadIfThere(io, folder + "/transparent_hugepage/enabled"));
  if (mode) limits.huge_pages = ModeOf(*mode);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListIfThere(io, folder + "/hugepages"));
  for (const int64_t size : NumbersOfNames(names, "hugepages-")) {
    const std::string pool = StrCat(folder, "/hugepages/hugepages-", size, "kB");
    ASSIGN_OR_RETURN(const std::optional<std::string> total,
                     ReadIfThere(io, pool + "/nr_hugepages"));
    ASSIGN_OR_RETURN(const std::optional<std::string> free,
                     ReadIfThere(io, pool + "/free_hugepages"));
    const uint64_t count = total ? NumberAt(*total).value_or(0) : 0;
    if (size == 0 || count == 0) continue;
    const HugePagePool found{.page = 1_KiB * static_cast<uint64_t>(size),
                             .total = count,
                             .free = std::min(count, free ? NumberAt(*free).value_or(0) : 0)};
    if ((found.page * found.total).ok()) limits.huge_page_pools.push_back(found);
  }
  return absl::OkStatus();
}

absl::Status TakeNodes(Io& io, const std::string& root, HostLimits& limits) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   ListIfThere(io, root + "/sys/devices/system/node"));
  const auto nodes = static_cast<int64_t>(NumbersOfNames(names, "node").size());
  limits.numa_nodes = std::max<int64_t>(1, nodes);
  return absl::OkStatus();
}

// "NAME:  N kB"; nothing where there is no such line.
Bytes KibibytesLine(std::string_view text, std::string_view name) {
  const std::optional<std::string_view> line = LineOf(text, name);
  const Bytes bytes = 1_KiB * (line ? NumberAt(*line).value_or(0) : 0);
  return bytes.ok() ? bytes : 0_B;
}

absl::Status TakeProcessors(Io& io, const std::string& root, HostLimits& limits) {
  const std::string status_path = root + "/proc/self/status";
  ASSIGN_OR_RETURN(const std::string status, ReadTextFile(io, status_path));
  limits.processors =
      static_cast<int64_t>(NumbersOfList(LineOf(status, "Cpus_allowed_list").value_or("")).size());
  if (limits.processors == 0) {
    return absl::InvalidArgumentError(StrCat(status_path, " has no line \"Cpus_allowed_list\""));
  }
  limits.resident = KibibytesLine(status, "VmRSS");
  limits.mapped = KibibytesLine(status, "VmSize");
  limits.data_mapped = KibibytesLine(status, "VmData");
  ASSIGN_OR_RETURN(const std::optional<std::string> online,
                   ReadIfThere(io, root + "/sys/devices/system/cpu/online"));
  const auto there = static_cast<int64_t>(online ? NumbersOfList(*online).size() : 0);
  limits.hardware_threads = std::max(limits.processors, there);
  ASSIGN_OR_RETURN(const std::optional<std::string> processor,
                   ReadIfThere(io, root + "/proc/cpuinfo"));
  if (processor) limits.processor = LineOf(*processor, "model name").value_or("");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HostLimits> ReadHostLimits(Io& io, const std::string& root) {
  HostLimits limits;
  const std::string memory_path = root + "/proc/meminfo";
  ASSIGN_OR_RETURN(const std::string memory, ReadTextFile(io, memory_path));
  ASSIGN_OR_RETURN(limits.total_memory, MemoryLine(memory_path, memory, "MemTotal"));
  ASSIGN_OR_RETURN(limits.available_memory, MemoryLine(memory_path, memory, "MemAvailable"));
  limits.swap = KibibytesLine(memory, "SwapTotal");
  limits.swap_free = KibibytesLine(memory, "SwapFree");
  RETURN_IF_ERROR(TakeProcessors(io, root, limits));
  RETURN_IF_ERROR(TakeGroups(io, root, limits));
  RETURN_IF_ERROR(TakeOwnLimits(io, root, limits));
  RETURN_IF_ERROR(TakeHugePages(io, root, limits));
  RETURN_IF_ERROR(TakeNodes(io, root, limits));
  limits.cores = limits.processors;
  if (limits.quota_cores) {
    // A thread beyond whole cores would only wait for its quota.
    const double whole = std::clamp(std::floor(*limits.quota_cores), 1.0, 1e6);
    limits.cores = std::min(limits.cores, static_cast<int64_t>(whole));
  }
  return limits;
}

std::optional<Bytes> HostLimits::cgroup_limit() const {
  std::optional<Bytes> least = cgroup_memory;
  if (cgroup_free) Lower(least, resident + *cgroup_free);
  return least;
}

std::optional<Bytes> HostLimits::memory_limit() const {
  std::optional<Bytes> least = cgroup_limit();
  if (address_space) Lower(least, resident + Less(*address_space, mapped));
  if (data_segment) Lower(least, resident + Less(*data_segment, data_mapped));
  return least;
}

Bytes HostLimits::free_memory() const {
  const std::optional<Bytes> limit = memory_limit();
  return limit ? std::min(available_memory, Less(*limit, resident)) : available_memory;
}

HostAllowance AllowanceOf(const HostLimits& limits) {
  const auto or_none = [](std::optional<Bytes> bytes) { return bytes.value_or(0_B); };
  HostAllowance allowance{.total_memory_bytes = limits.total_memory,
                          .swap_bytes = limits.swap,
                          .swap_free_bytes = limits.swap_free,
                          .control_group_bytes = or_none(limits.cgroup_memory),
                          .address_space_bytes = or_none(limits.address_space),
                          .locked_memory_bytes = or_none(limits.memlock),
                          .huge_pages = limits.huge_pages,
                          .hardware_threads = limits.processors,
                          .quota_cores = limits.quota_cores.value_or(0)};
  for (const HugePagePool& pool : limits.huge_page_pools) {
    allowance.huge_page_pool_bytes += pool.page * pool.total;
    allowance.huge_page_pool_free_bytes += pool.page * pool.free;
  }
  return allowance;
}

}  // namespace horizon

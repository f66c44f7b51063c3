#include "planner/host_limits.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/status_macros.h"
#include "common/str_cat.h"

namespace horizon {
namespace {

// Version 1 writes "no limit" as the largest multiple of a page; nothing real is near it.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

// The number a text begins with.
std::optional<uint64_t> NumberAt(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

// What stands behind "NAME:" or "NAME   " at the beginning of a line.
std::optional<std::string_view> LineOf(std::string_view text, std::string_view name) {
  for (const std::string_view line : Split(text, '\n')) {
    if (line.substr(0, name.size()) != name) continue;
    std::string_view rest = Trimmed(line.substr(name.size()));
    if (!rest.empty() && rest.front() == ':') rest = Trimmed(rest.substr(1));
    return rest;
  }
  return std::nullopt;
}

// A file that may be missing or closed to us.
absl::StatusOr<std::optional<std::string>> ReadIfThere(Io& io, const std::string& path) {
  absl::StatusOr<std::string> text = ReadTextFile(io, path);
  if (text.ok()) return std::optional<std::string>(*std::move(text));
  if (absl::IsNotFound(text.status()) || absl::IsPermissionDenied(text.status())) {
    return std::optional<std::string>();
  }
  return text.status();
}

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

// How many numbers a list like "0-3,8,10-11" names; 0 when it is none.
int64_t CountList(std::string_view list) {
  int64_t count = 0;
  for (const std::string_view range : Split(Trimmed(list), ',')) {
    const std::optional<uint64_t> first = NumberAt(range);
    const size_t dash = range.find('-');
    const std::optional<uint64_t> last =
        dash == std::string_view::npos ? first : NumberAt(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last > 1'000'000) return 0;
    count += static_cast<int64_t>(*last - *first + 1);
  }
  return count;
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
  for (const std::string_view line : Split(text, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (controllers.empty()) groups.version2 = FoldersUp(mount, path);
    for (const std::string_view controller : Split(controllers, ',')) {
      if (controller == "memory") groups.memory = FoldersUp(mount + "/memory", path);
      if (controller == "cpu") groups.cpu = FoldersUp(mount + "/cpu", path);
    }
  }
  return groups;
}

class LimitReader {
 public:
  explicit LimitReader(Io& io) : io_(io) {}

  absl::Status TakeMemory(const std::string& path, std::optional<Bytes>& least) {
    ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadIfThere(io_, path));
    const std::optional<uint64_t> limit = text ? NumberAt(*text) : std::nullopt;
    if (!limit || *limit == 0 || *limit >= kNoLimit) return absl::OkStatus();
    least = std::min(least.value_or(Bytes(*limit)), Bytes(*limit));
    return absl::OkStatus();
  }

  // "QUOTA PERIOD" or "max PERIOD".
  absl::Status TakeQuota(const std::string& path, int64_t& cores) {
    ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadIfThere(io_, path));
    if (!text) return absl::OkStatus();
    const std::vector<std::string_view> parts = Split(Trimmed(*text), ' ');
    if (parts.size() == 2) Lower(NumberAt(parts[0]), NumberAt(parts[1]), cores);
    return absl::OkStatus();
  }

  absl::Status TakeOldQuota(const std::string& folder, int64_t& cores) {
    ASSIGN_OR_RETURN(const std::optional<std::string> quota,
                     ReadIfThere(io_, folder + "/cpu.cfs_quota_us"));
    ASSIGN_OR_RETURN(const std::optional<std::string> period,
                     ReadIfThere(io_, folder + "/cpu.cfs_period_us"));
    if (quota && period) Lower(NumberAt(*quota), NumberAt(*period), cores);
    return absl::OkStatus();
  }

 private:
  // A thread beyond whole cores would only wait for its quota.
  static void Lower(std::optional<uint64_t> quota, std::optional<uint64_t> period, int64_t& cores) {
    if (!quota || !period || *quota == 0 || *period == 0) return;
    const uint64_t whole = std::clamp<uint64_t>(*quota / *period, 1, 1'000'000);
    cores = std::min(cores, static_cast<int64_t>(whole));
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
    RETURN_IF_ERROR(reader.TakeMemory(folder + "/memory.max", limits.cgroup_memory));
    RETURN_IF_ERROR(reader.TakeQuota(folder + "/cpu.max", limits.cores));
  }
  for (const std::string& folder : groups.memory) {
    RETURN_IF_ERROR(reader.TakeMemory(folder + "/memory.limit_in_bytes", limits.cgroup_memory));
  }
  for (const std::string& folder : groups.cpu) {
    RETURN_IF_ERROR(reader.TakeOldQuota(folder, limits.cores));
  }
  return absl::OkStatus();
}

absl::Status TakeMemlock(Io& io, const std::string& root, HostLimits& limits) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text,
                   ReadIfThere(io, root + "/proc/self/limits"));
  const std::optional<std::string_view> line =
      text ? LineOf(*text, "Max locked memory") : std::nullopt;
  const std::optional<uint64_t> soft = line ? NumberAt(*line) : std::nullopt;
  if (soft) limits.memlock = Bytes(*soft);
  return absl::OkStatus();
}

absl::Status TakeNodes(Io& io, const std::string& root, HostLimits& limits) {
  const absl::StatusOr<std::vector<std::string>> names = io.List(root + "/sys/devices/system/node");
  if (absl::IsNotFound(names.status()) || absl::IsPermissionDenied(names.status())) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(names.status());
  const int64_t nodes = std::count_if(names->begin(), names->end(), [](std::string_view name) {
    return name.substr(0, 4) == "node" && NumberAt(name.substr(4)).has_value();
  });
  limits.numa_nodes = std::max<int64_t>(1, nodes);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HostLimits> ReadHostLimits(Io& io, const std::string& root) {
  HostLimits limits;
  const std::string memory_path = root + "/proc/meminfo";
  ASSIGN_OR_RETURN(const std::string memory, ReadTextFile(io, memory_path));
  ASSIGN_OR_RETURN(limits.total_memory, MemoryLine(memory_path, memory, "MemTotal"));
  ASSIGN_OR_RETURN(limits.available_memory, MemoryLine(memory_path, memory, "MemAvailable"));
  const std::string status_path = root + "/proc/self/status";
  ASSIGN_OR_RETURN(const std::string status, ReadTextFile(io, status_path));
  limits.processors = CountList(LineOf(status, "Cpus_allowed_list").value_or(""));
  if (limits.processors == 0) {
    return absl::InvalidArgumentError(StrCat(status_path, " has no line \"Cpus_allowed_list\""));
  }
  limits.cores = limits.processors;
  ASSIGN_OR_RETURN(const std::optional<std::string> processor,
                   ReadIfThere(io, root + "/proc/cpuinfo"));
  if (processor) limits.processor = LineOf(*processor, "model name").value_or("");
  RETURN_IF_ERROR(TakeGroups(io, root, limits));
  RETURN_IF_ERROR(TakeMemlock(io, root, limits));
  RETURN_IF_ERROR(TakeNodes(io, root, limits));
  return limits;
}

}  // namespace horizon

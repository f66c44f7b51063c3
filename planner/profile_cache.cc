#include "planner/profile_cache.h"

#include <span>
#include <utility>

#include "common/crc32c.h"
#include "common/document.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

constexpr int64_t kVersion = 1;  // of this file
constexpr Bytes kMostBytes = 4_MiB;

// A name that is a file's and differs with the hardware.
std::string FileNameOf(const ProfiledHardware& hardware) {
  const std::string text =
      StrCat(hardware.processor, "\n", hardware.cores, "\n", hardware.memory_bytes, "\n",
             hardware.numa_nodes, "\n", hardware.device);
  const auto bytes = std::as_bytes(std::span(text));
  return StrCat("profile-", Crc32cText(Crc32c(bytes)), ".json");
}

std::optional<KeptProfile> Read(const Document& document) {
  const Value& root = document.root;
  const auto text = [&](const Value& object, std::string_view key) {
    const Value* value = object.Find(key);
    const std::string* found = value == nullptr ? nullptr : value->As<std::string>();
    return found == nullptr ? std::string() : *found;
  };
  const auto whole = [&](const Value& object, std::string_view key) -> int64_t {
    const Value* value = object.Find(key);
    const int64_t* found = value == nullptr ? nullptr : value->As<int64_t>();
    return found == nullptr ? -1 : *found;
  };
  const Value* hardware = root.Find("hardware");
  const Value* quick = root.Find("quick");
  if (whole(root, "version") != kVersion || hardware == nullptr || quick == nullptr) {
    return std::nullopt;
  }
  KeptProfile kept{
      .hardware = {.processor = text(*hardware, "processor"),
                   .cores = whole(*hardware, "cores"),
                   .memory_bytes = static_cast<uint64_t>(whole(*hardware, "memory_bytes")),
                   .numa_nodes = whole(*hardware, "numa_nodes"),
                   .device = text(*hardware, "device")},
      .made = whole(root, "made")};
  if (const bool* value = quick->As<bool>()) kept.quick = *value;
  // The profile is a text of its own, so that its reader sees nothing but it.
  const absl::StatusOr<Document> inner = ParseJson("profile", text(root, "profile"));
  if (!inner.ok()) return std::nullopt;
  absl::StatusOr<HardwareProfile> profile = ReadProfile(*inner);
  if (!profile.ok()) return std::nullopt;
  kept.profile = *std::move(profile);
  return kept;
}

}  // namespace

ProfiledHardware HardwareOf(const HostLimits& host, std::string device) {
  return {.processor = host.processor,
          .cores = host.cores,
          .memory_bytes = host.total_memory.value(),
          .numa_nodes = host.numa_nodes,
          .device = std::move(device)};
}

std::string DifferenceOf(const ProfiledHardware& here, const ProfiledHardware& there) {
  std::string text;
  const auto compare = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a == b) return;
    text += StrCat(text.empty() ? "" : ", ", std::string(what), ": ", a, " instead of ", b);
  };
  const auto bytes = [](uint64_t count) { return ToString(Bytes(CheckedU64(count))); };
  compare("processor", here.processor, there.processor);
  compare("cores", StrCat(here.cores), StrCat(there.cores));
  if (here.memory_bytes != there.memory_bytes) {
    compare("memory", bytes(here.memory_bytes), bytes(there.memory_bytes));
  }
  compare("NUMA nodes", StrCat(here.numa_nodes), StrCat(there.numa_nodes));
  compare("device", here.device, there.device);
  return text;
}

std::optional<KeptProfile> FindKeptProfile(Io& io, const std::string& folder,
                                           const ProfiledHardware& hardware) {
  if (folder.empty()) return std::nullopt;
  const std::string path = JoinPath(folder, FileNameOf(hardware));
  const absl::StatusOr<std::string> text = ReadTextFile(io, path, kMostBytes);
  if (!text.ok()) return std::nullopt;
  const absl::StatusOr<Document> document = ParseJson(path, *text);
  if (!document.ok()) return std::nullopt;
  std::optional<KeptProfile> kept = Read(*document);
  // Another hardware may have the same name.
  if (!kept.has_value() || kept->hardware != hardware) return std::nullopt;
  kept->path = path;
  return kept;
}

absl::StatusOr<std::string> KeepProfile(Io& io, const std::string& folder,
                                        const KeptProfile& kept) {
  JsonWriter json;
  json.BeginObject().Key("version").Integer(kVersion).Key("made").Integer(kept.made);
  json.Key("quick").Bool(kept.quick).Key("hardware").BeginObject();
  json.Key("processor").String(kept.hardware.processor);
  json.Key("cores").Integer(kept.hardware.cores);
  json.Key("memory_bytes").Unsigned(kept.hardware.memory_bytes);
  json.Key("numa_nodes").Integer(kept.hardware.numa_nodes);
  json.Key("device").String(kept.hardware.device).EndObject();
  json.Key("profile").String(WriteProfile(kept.profile)).EndObject();
  const std::string path = JoinPath(folder, FileNameOf(kept.hardware));
  RETURN_IF_ERROR(WriteTextFile(io, path, std::move(json).Finish()));
  return path;
}

std::string AgeText(int64_t made, int64_t now) {
  const int64_t seconds = now - made;
  const auto text = [](int64_t count, std::string_view unit) {
    return StrCat(count, " ", std::string(unit), count == 1 ? "" : "s", " old");
  };
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  if (seconds < kMinute) return "new";
  if (seconds < kHour) return text(seconds / kMinute, "minute");
  if (seconds < 2 * kDay) return text(seconds / kHour, "hour");
  return text(seconds / kDay, "day");
}

}  // namespace horizon

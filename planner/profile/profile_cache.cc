#include "planner/profile/profile_cache.h"

#include <span>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/crc32c.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "kernels/kernel_fingerprint.h"

namespace horizon {
namespace {

constexpr Bytes kMostBytes = 4_MiB;
constexpr int64_t kMinute = 60;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

// A name that is a file's and differs with the hardware.
std::string FileNameOf(const ProfiledHardware& hardware) {
  const std::string text =
      StrCat(hardware.processor, "\n", hardware.cores, "\n", hardware.hardware_threads, "\n",
             hardware.memory_bytes.value(), "\n", hardware.numa_nodes, "\n", hardware.device);
  const auto bytes = std::as_bytes(std::span(text));
  return StrCat("profile-", Crc32cText(Crc32c(bytes)), ".json");
}

absl::StatusOr<HardwareProfile> Read(const std::string& path, const std::string& text,
                                     const ProfiledHardware& hardware) {
  ASSIGN_OR_RETURN(const Document document, ParseJson(path, text));
  ASSIGN_OR_RETURN(HardwareProfile profile, ReadProfile(document));
  if (!profile.measured_on.has_value()) {
    return absl::DataLossError(StrCat(path, " does not say what it was measured on"));
  }
  // Another hardware may have the same name.
  const std::string difference = DifferenceOf(hardware, profile.measured_on->hardware);
  if (!difference.empty()) {
    return absl::DataLossError(StrCat(path, " is of another machine (", difference, ")"));
  }
  return profile;
}

}  // namespace

ProfiledHardware HardwareOf(const HostLimits& host, std::string device) {
  return {.processor = host.processor,
          .cores = host.cores,
          .hardware_threads = host.hardware_threads,
          .memory_bytes = host.total_memory,
          .numa_nodes = host.numa_nodes,
          .device = std::move(device)};
}

MeasuredOn MeasuredNow(ProfiledHardware hardware, int64_t now) {
  return {
      .hardware = std::move(hardware), .made = now, .kernels = std::string(KernelFingerprint())};
}

absl::StatusOr<CachedProfile> FindCachedProfile(Io& io, const std::string& folder,
                                                const ProfiledHardware& hardware) {
  if (folder.empty()) return absl::NotFoundError("there is no folder to keep profiles in");
  const std::string path = JoinPath(folder, FileNameOf(hardware));
  const absl::StatusOr<std::string> text = ReadTextFile(io, path, kMostBytes);
  if (absl::IsNotFound(text.status())) return text.status();
  absl::StatusOr<HardwareProfile> profile = text.ok() ? Read(path, *text, hardware) : text.status();
  if (!profile.ok()) return absl::DataLossError(profile.status().message());
  return CachedProfile{.profile = *std::move(profile), .path = path};
}

absl::StatusOr<std::string> CacheProfile(Io& io, const std::string& folder,
                                         const HardwareProfile& profile) {
  CHECK(profile.measured_on.has_value());
  const std::string path = JoinPath(folder, FileNameOf(profile.measured_on->hardware));
  RETURN_IF_ERROR(WriteTextFile(io, path, WriteProfile(profile)));
  return path;
}

std::string AgeText(int64_t made, int64_t now) {
  const int64_t seconds = now - made;
  const auto text = [](int64_t count, std::string_view unit) {
    return StrCat(count, " ", std::string(unit), count == 1 ? "" : "s", " old");
  };
  if (seconds < kMinute) return "new";
  if (seconds < kHour) return text(seconds / kMinute, "minute");
  if (seconds < 2 * kDay) return text(seconds / kHour, "hour");
  return text(seconds / kDay, "day");
}

std::string StaleReason(const MeasuredOn& measured, int64_t now) {
  if (measured.kernels != KernelFingerprint()) return "measured with other kernels than these";
  if (now - measured.made > kOldProfileDays * kDay) {
    return StrCat("older than ", kOldProfileDays, " days");
  }
  return "";
}

std::string FreshnessText(const MeasuredOn& measured, int64_t now) {
  const std::string reason = StaleReason(measured, now);
  return StrCat(AgeText(measured.made, now), measured.quick ? ", quick" : "",
                reason.empty() ? "" : StrCat("; ", reason, ": `horizon profile` measures again"));
}

}  // namespace horizon

#include "runtime/device/copy_ranges.h"

#include "common/text/str_cat.h"

namespace horizon {

absl::Status CheckCopyRanges(const Arena& arena, const std::byte* base, const HostRanges& ranges,
                             const std::byte* device, const std::byte* host, Bytes bytes) {
  if (bytes == 0_B) return absl::OkStatus();
  const uintptr_t offset = reinterpret_cast<uintptr_t>(device) - reinterpret_cast<uintptr_t>(base);
  if (!arena.Contains(offset, bytes)) {
    return absl::InvalidArgumentError(
        StrCat("copy of ", bytes.value(), " bytes: the device side lies outside any allocation"));
  }
  if (!ranges.Contains(host, bytes.value())) {
    return absl::InvalidArgumentError(StrCat(
        "copy of ", bytes.value(), " bytes: the host side lies outside any registered range"));
  }
  return absl::OkStatus();
}

}  // namespace horizon

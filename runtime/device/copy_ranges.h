#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "runtime/device/arena.h"
#include "runtime/device/host_ranges.h"

namespace horizon {

// What every device asks of a copy: its device side within one allocation of the arena that begins
// at `base`, its host side within one registered range; InvalidArgument says which is not. Zero
// bytes are fine, whatever the pointers.
absl::Status CheckCopyRanges(const Arena& arena, const std::byte* base, const HostRanges& ranges,
                             const std::byte* device, const std::byte* host, Bytes bytes);

}  // namespace horizon

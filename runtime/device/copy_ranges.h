#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "runtime/device/arena.h"
#include "runtime/device/host_ranges.h"

namespace horizon {

// Checks the arguments of a copy, the same way for every device. The device side must be within one
// allocation of the arena, which begins at address `base`; the host side must be within one
// registered range. InvalidArgument says which side is not. Zero bytes are always accepted,
// whatever the pointers.
absl::Status CheckCopyRanges(const Arena& arena, const std::byte* base, const HostRanges& ranges,
                             const std::byte* device, const std::byte* host, Bytes bytes);

}  // namespace horizon

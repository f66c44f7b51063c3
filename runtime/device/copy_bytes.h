#pragma once

#include <cstddef>
#include <cstdint>

#include "common/threads/workers.h"

namespace horizon {

// A memcpy that is divided among the workers: each worker copies one contiguous share. Returns when
// all bytes are copied.
void CopyBytes(std::byte* target, const std::byte* source, uint64_t bytes, Workers& workers);

}  // namespace horizon

#pragma once

#include <cstddef>
#include <cstdint>

#include "common/threads/workers.h"

namespace horizon {

// memcpy in one share a worker.
void CopyBytes(std::byte* target, const std::byte* source, uint64_t bytes, Workers& workers);

}  // namespace horizon

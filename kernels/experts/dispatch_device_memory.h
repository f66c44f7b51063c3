#pragma once

#include <cstdint>

#include "kernels/arguments/workspace_allocator.h"
#include "kernels/experts/dispatch_launch.h"

namespace horizon {

// Takes the scratch of a dispatch from the workspace.
inline void AllocateDispatchMemory(int64_t tokens, int64_t experts, WorkspaceAllocator& workspace,
                                   DispatchLaunch& launch) {
  launch.of_tiles = workspace.Allocate<int32_t>(DispatchTiles(tokens) * experts);
  launch.totals = workspace.Allocate<int32_t>(experts);
}

}  // namespace horizon

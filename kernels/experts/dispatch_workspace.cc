#include "kernels/experts/dispatch.h"
#include "kernels/experts/dispatch_device_memory.h"

namespace horizon {

uint64_t DispatchWorkspaceBytes(int64_t tokens, int64_t experts) {
  WorkspaceAllocator workspace;
  DispatchLaunch launch;
  AllocateDispatchMemory(tokens, experts, workspace, launch);
  return workspace.allocated_bytes();
}

}  // namespace horizon

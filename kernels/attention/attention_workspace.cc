#include "kernels/attention/attention.h"
#include "kernels/attention/attention_device_memory.h"

namespace horizon {

uint64_t AttentionForwardWorkspaceBytes(const AttentionShape& shape) {
  WorkspaceAllocator workspace;
  AttentionForwardMemory(shape, workspace);
  return workspace.allocated_bytes();
}

uint64_t AttentionBackwardWorkspaceBytes(const AttentionShape& shape) {
  WorkspaceAllocator workspace;
  AttentionBackwardMemory(shape, workspace);
  return workspace.allocated_bytes();
}

}  // namespace horizon

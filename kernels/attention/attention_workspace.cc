#include <algorithm>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_device_memory.h"
#include "kernels/cuda/cuda_column_scratch.h"

namespace horizon {

uint64_t AttentionForwardWorkspaceBytes(const AttentionShape& shape) {
  WorkspaceAllocator workspace;
  AttentionForwardMemory(shape, workspace);
  return workspace.allocated_bytes();
}

uint64_t AttentionBackwardWorkspaceBytes(const AttentionShape& shape) {
  WorkspaceAllocator workspace;
  AttentionBackwardMemory(shape, workspace);
  // The gradient of the sinks is summed in the same memory; its need is larger only if there are no
  // tokens.
  return std::max(workspace.allocated_bytes(),
                  static_cast<uint64_t>(LeastColumnScratchBytes(shape.heads)));
}

}  // namespace horizon

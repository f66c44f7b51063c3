#include "kernels/attention/attention.h"
#include "kernels/attention/attention_device_memory.h"

namespace horizon {

uint64_t AttentionForwardWorkspaceBytes(const AttentionShape& shape) {
  DeviceParts parts;
  AttentionForwardMemory(shape, parts);
  return parts.taken();
}

uint64_t AttentionBackwardWorkspaceBytes(const AttentionShape& shape) {
  DeviceParts parts;
  AttentionBackwardMemory(shape, parts);
  return parts.taken();
}

}  // namespace horizon

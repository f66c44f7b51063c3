#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/host_memory.h"
#include "runtime/device/device.h"
#include "schedule/schedule.h"

namespace horizon {

// All memory of a run, taken once, exactly as the layout says: one piece of the device, one of
// page-locked host memory, one of plain host memory. Nothing else is allocated while steps run.
// `schedule` and `device` outlive it.
class RunMemory {
 public:
  // ResourceExhausted (bytes asked, bytes there) when one of the three does not fit.
  static absl::StatusOr<RunMemory> Create(const Schedule& schedule, Device& device);
  RunMemory(RunMemory&&) = default;
  RunMemory& operator=(RunMemory&&) = delete;
  ~RunMemory();

  // The begin of a buffer. Those of Memory::kDevice are addresses of the device.
  std::byte* At(BufferId buffer) const;
  template <typename T>
  T* As(BufferId buffer) const {
    return reinterpret_cast<T*>(At(buffer));
  }
  const Buffer& buffer(BufferId id) const { return schedule_->memory.buffers[id]; }
  // The buffer of a kind with this index (a chunk, as a rule); -1: the layout has none.
  BufferId Find(BufferKind kind, int32_t index) const;
  uint64_t device_bytes() const { return device_memory_.size(); }
  uint64_t host_bytes() const { return pinned_.size() + host_.size(); }

  // Between a buffer and the host, wherever the buffer lies; returns when done. Not while steps
  // run.
  absl::Status Put(BufferId buffer, uint64_t offset, std::span<const std::byte> values);
  absl::Status Get(BufferId buffer, uint64_t offset, std::span<std::byte> values);

 private:
  RunMemory(const Schedule& schedule, Device& device);
  absl::Status CopyThroughStage(std::byte* device, std::byte* host, uint64_t bytes,
                                LinkDirection direction);

  const Schedule* schedule_;
  Device* device_;
  DeviceMemory device_memory_;
  HostMemory pinned_;
  HostMemory host_;
  HostMemory stage_;  // page-locked, small: for Put and Get of device buffers
  StreamRef stream_;
  EventRef event_;
  std::vector<std::vector<BufferId>> by_kind_;  // by BufferKind, then index; -1: none
};

}  // namespace horizon

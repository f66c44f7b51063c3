#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/host_memory.h"
#include "common/units.h"
#include "runtime/device/device.h"
#include "schedule/schedule.h"

namespace horizon {

// Address and size of a buffer. A buffer that two passes share has the size the first one gave it.
struct BufferPlace {
  std::byte* begin = nullptr;
  Bytes bytes;
};

// All memory of a pass, taken once, exactly as the layout says: one piece of the device, one of
// page-locked host memory, one of plain host memory. Nothing else is allocated while steps run.
// `schedule` and `device` outlive it.
//
// Two passes may work on one model: training and evaluation, or prefill and decode. The second is
// made beside the first: what lasts (IsShared) is the first one's, what does not lies on the device
// where the first one's buffers of that kind do. So the two never run at the same time, and after
// one of them the other's passing contents are gone.
class RunMemory {
 public:
  // ResourceExhausted (bytes asked, bytes there) when one of the three does not fit.
  // `spare_device_bytes` are added on the device, for a pass that will be made beside this one.
  static absl::StatusOr<RunMemory> Create(const Schedule& schedule, Device& device,
                                          Bytes spare_device_bytes = {});
  // Takes memory of the host only. FailedPrecondition when the device's memory of `first`, which
  // outlives the result, has too little room (DeviceBytesBeside) or lacks something shared.
  static absl::StatusOr<RunMemory> CreateBeside(const Schedule& schedule, const RunMemory& first);
  // Buffers that hold the same in every pass over a model: parameters and their moments, what
  // `resident` computes with, rotary angles, keys and values.
  static bool IsShared(const Schedule& schedule, BufferKind kind);
  // Room a pass takes on the device beside another: all buffers that are not shared.
  static Bytes DeviceBytesBeside(const Schedule& schedule);
  // What a pass takes beside `first` at most, when what both have in one size shares its place:
  // with this much spare memory behind the first one's, it always fits.
  static Bytes SpareBytesBeside(const Schedule& schedule, const Schedule& first);
  RunMemory(RunMemory&&) = default;
  RunMemory& operator=(RunMemory&&) = delete;
  ~RunMemory();

  // The begin of a buffer. Those of Memory::kDevice are addresses of the device.
  std::byte* At(BufferId buffer) const;
  template <typename T>
  T* As(BufferId buffer) const {
    return reinterpret_cast<T*>(At(buffer));
  }
  // All buffers, indexed by BufferId. Valid until this object is moved.
  std::span<const BufferPlace> places() const { return places_; }
  const Buffer& buffer(BufferId id) const { return schedule_->memory.buffers[id]; }
  // Its size, which for a shared one is that of the first pass.
  Bytes BytesOf(BufferId id) const { return places_[id].bytes; }
  // The buffer of a kind with this index (a chunk, as a rule); -1: the layout has none. For what
  // happens between passes (filling, saving); operations have accesses.
  BufferId Find(BufferKind kind, int32_t index) const;
  Bytes device_bytes() const { return Bytes(device_memory_.size()); }
  Bytes host_bytes() const { return Bytes(pinned_.size()) + Bytes(host_.size()); }
  // The largest piece of the host's memory, for whoever needs memory when the run no longer does:
  // writing there destroys the parameters.
  std::span<std::byte> largest_host_piece() const {
    return pinned_.size() > host_.size() ? pinned_.span() : host_.span();
  }

  // Between a buffer and the host, wherever the buffer lies; returns when done. Not while steps
  // run.
  absl::Status Put(BufferId buffer, uint64_t offset, std::span<const std::byte> values);
  absl::Status Get(BufferId buffer, uint64_t offset, std::span<std::byte> values);

 private:
  RunMemory(const Schedule& schedule, Device& device);
  absl::Status ReserveHost(Bytes pinned, Bytes plain);
  absl::Status PlaceBeside(const RunMemory& first);
  absl::Status CopyThroughStage(std::byte* device, std::byte* host, Bytes bytes,
                                LinkDirection direction);

  const Schedule* schedule_;
  Device* device_;
  DeviceMemory device_memory_;
  HostMemory pinned_;
  HostMemory host_;
  bool host_registered_ = false;
  HostMemory stage_;  // page-locked, small: for Put and Get of device buffers
  StreamRef stream_;
  EventRef event_;
  std::vector<std::vector<BufferId>> by_kind_;  // by BufferKind, then index; -1: none
  std::vector<BufferPlace> places_;             // by buffer
};

}  // namespace horizon

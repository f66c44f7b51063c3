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

// Address and size of a buffer. A buffer that two passes share has the size that the first pass
// gave it.
struct BufferPlace {
  std::byte* begin = nullptr;
  Bytes bytes;
};

// All memory of a pass, allocated once, exactly as the schedule's memory layout says: one
// allocation on the device, one of page-locked host memory, one of pageable host memory. Nothing
// else is allocated while steps run. `schedule` and `device` outlive it.
//
// Two passes may work on one model: training and evaluation, or prefill and decoding. The second is
// created beside the first (CreateBeside). It uses the first pass's buffers for everything that
// lasts (IsShared: parameters, moments, KV cache). Its temporary device buffers reuse the device
// memory of the first pass's temporary buffers. So the two never run at the same time, and after
// one has run, the other's temporary contents are gone.
class RunMemory {
 public:
  // ResourceExhausted (with the bytes asked for and available) when one of the three does not fit.
  // `spare_device_bytes` are allocated in addition on the device, for a pass that will be created
  // beside this one.
  static absl::StatusOr<RunMemory> Create(const Schedule& schedule, Device& device,
                                          Bytes spare_device_bytes = {});
  // Allocates host memory only. FailedPrecondition when the device memory of `first` has too little
  // room (DeviceBytesBeside) or lacks a shared buffer. `first` outlives the result.
  static absl::StatusOr<RunMemory> CreateBeside(const Schedule& schedule, const RunMemory& first);
  // Whether buffers of this kind hold the same in every pass over a model: parameters and their
  // moments, the weights that the `resident` strategy computes with, rotary tables, keys and
  // values.
  static bool IsShared(const Schedule& schedule, BufferKind kind);
  // The device memory that a pass needs beside another: all its buffers that are not shared.
  static Bytes DeviceBytesBeside(const Schedule& schedule);
  // An upper bound on the device memory that a pass needs beside `first`, if buffers that both
  // passes have in one size use the same memory. With this much spare memory after the first
  // pass's, it always fits.
  static Bytes SpareBytesBeside(const Schedule& schedule, const Schedule& first);
  RunMemory(RunMemory&&) = default;
  RunMemory& operator=(RunMemory&&) = delete;
  ~RunMemory();

  // The address of a buffer. For buffers in Memory::kDevice it is a device address.
  std::byte* At(BufferId buffer) const;
  template <typename T>
  T* As(BufferId buffer) const {
    return reinterpret_cast<T*>(At(buffer));
  }
  // All buffers, indexed by BufferId. Valid until this object is moved.
  std::span<const BufferPlace> places() const { return places_; }
  const Buffer& buffer(BufferId id) const { return schedule_->memory.buffers[id]; }
  // A buffer's size; for a shared buffer, the size in the first pass.
  Bytes BytesOf(BufferId id) const { return places_[id].bytes; }
  // The buffer of a kind with this index (usually a chunk); -1 when the layout has none. It is for
  // what happens between steps (filling, saving); operations use their accesses.
  BufferId Find(BufferKind kind, int32_t index) const;
  Bytes device_bytes() const { return Bytes(device_memory_.size()); }
  Bytes host_bytes() const { return Bytes(pinned_.size()) + Bytes(host_.size()); }
  // The largest allocation of host memory, for use when the run is over: writing there destroys the
  // parameters.
  std::span<std::byte> largest_host_piece() const {
    return pinned_.size() > host_.size() ? pinned_.span() : host_.span();
  }

  // Copy between a buffer, in whatever memory, and ordinary host memory; they return when the copy
  // is done. Must not be called while steps run.
  absl::Status Put(BufferId buffer, uint64_t offset, std::span<const std::byte> values);
  absl::Status Get(BufferId buffer, uint64_t offset, std::span<std::byte> values);

 private:
  RunMemory(const Schedule& schedule, Device& device);
  absl::Status ReserveHost(Bytes pinned, Bytes plain);
  absl::Status PlaceBeside(const RunMemory& first);
  absl::Status CopyStaged(std::byte* device, std::byte* host, Bytes bytes, LinkDirection direction);

  const Schedule* schedule_;
  Device* device_;
  DeviceMemory device_memory_;
  HostMemory pinned_;
  HostMemory host_;
  bool host_registered_ = false;
  HostMemory staging_;  // small page-locked staging buffer for Put and Get of device buffers
  StreamRef stream_;
  EventRef event_;
  std::vector<std::vector<BufferId>> by_kind_;  // indexed by BufferKind, then index; -1: none
  std::vector<BufferPlace> places_;             // indexed by buffer
};

}  // namespace horizon

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/units.h"
#include "runtime/checkpoint/frozen_tensor.h"
#include "runtime/checkpoint/state_part.h"
#include "runtime/execution/run_memory.h"
#include "runtime/parameters/parameter_source.h"
#include "schedule/chunk_tensors.h"
#include "schedule/schedule.h"

namespace horizon {

// All that lasts of a model in training: masters as two halves and both moments, in the buffers of
// the layout, tensor after tensor (chunk_tensors.h). Of a frozen tensor only what compute reads is
// there: both halves with fp32 compute, else the high one, or where everything is on the device the
// copy that compute works with. Reads and writes by tensor, in pieces, so that loading and saving
// need no second copy. Not while steps run. What it is made from outlives it.
class ParameterStore {
 public:
  ParameterStore(const Schedule& schedule, RunMemory& memory);

  using Source = ParameterSource;
  // Fills every master from `source` and clears all moments. InvalidArgument, naming the tensor and
  // the element, for a value that is not finite as bf16.
  absl::Status Fill(const Source& source);
  // The same for the frozen tensors alone: what a checkpoint does not hold.
  absl::Status FillFrozen(const Source& source);

  // The masters of a tensor, from element `first` on (fp32, or fp32 of the bf16 weights where the
  // state has no low half). Of a frozen tensor: the weights as compute reads them.
  absl::Status ReadMaster(const TensorSpec& tensor, uint64_t first, std::span<float> into) const;
  // The high halves: the model in bf16.
  absl::Status ReadHi(const TensorSpec& tensor, uint64_t first, std::span<uint16_t> into) const;

  // A tensor's slices, in order; a table may have several.
  struct Place {
    int32_t chunk = 0;
    TensorSlice slice;
  };
  std::span<const Place> places() const { return places_; }

  // What is kept of the trained parameters at a place, as it lies in memory: a checkpoint's bytes.
  // A part that the state format does not have, or the layout does not hold, has no bytes, and
  // neither has a frozen tensor. Reading is allowed while steps run if the state is on the host and
  // the caller keeps updates of the chunk away; writing is not, and RebuildCopies comes after the
  // last write.
  Bytes StateBytes(const Place& place, StatePart part) const;
  absl::Status ReadState(const Place& place, StatePart part, uint64_t offset,
                         std::span<std::byte> into) const;
  absl::Status WriteState(const Place& place, StatePart part, uint64_t offset,
                          std::span<const std::byte> from);
  // What `resident` computes with is made again from the masters.
  absl::Status RebuildCopies();
  bool state_on_host() const { return schedule_.plan.strategy != Strategy::kResident; }

  // A hash of everything: masters, moments, and frozen tensors as compute reads them. Equal stores
  // have equal digests, whatever the plan.
  absl::StatusOr<uint64_t> Digest() const;

  // A checksum (CRC-32C) of each frozen tensor as compute reads it, in the model's order: what a
  // run that trains the rest of the model rests on. Equal whatever the plan.
  absl::StatusOr<std::vector<FrozenTensor>> ChecksumFrozen() const;

 private:
  struct Range {
    BufferId buffer = -1;
    uint64_t offset = 0;
    Bytes bytes;
  };
  Range RangeOf(const Place& place, StatePart part) const;
  // The buffer that only `resident` has, of a chunk; -1: none.
  BufferId CopyOnDevice(int32_t chunk) const;
  absl::Status FillPlace(const Place& place, const Source& source, std::vector<float>& values);
  // The halves of the parameters at a place, wherever they are kept. `lo` is 0 where there is none.
  absl::Status ReadHalves(const Place& place, uint64_t offset, std::span<uint16_t> hi,
                          std::span<int16_t> lo) const;
  absl::Status PutResident(const Place& place, uint64_t offset, std::span<const uint16_t> hi,
                           std::span<const int16_t> lo);
  absl::Status WriteMasters(const Place& place, uint64_t offset, std::span<const float> values);
  // Calls visit(place, offset in slice, offset in the caller's range, count) for the parts of a
  // range of a tensor.
  template <typename Visit>
  absl::Status ForRange(const TensorSpec& tensor, uint64_t first, uint64_t count,
                        Visit visit) const;
  template <typename Visit>
  absl::Status ForFrozen(Visit visit) const;
  absl::Status ClearMoments();

  const Schedule& schedule_;
  RunMemory& memory_;
  std::vector<Place> places_;  // in order of chunks
};

}  // namespace horizon

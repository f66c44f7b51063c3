#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
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

// The lasting state of a model in training: the split fp32 masters (bf16 high half and 16-bit low
// half) and both moments. They are stored in the buffers of the memory layout, tensor after tensor
// (chunk_tensors.h). Of a frozen tensor only what compute reads is stored: both halves with fp32
// compute, otherwise the high half; where everything is on the device (the `resident` strategy),
// the copy that compute uses.
//
// Tensors are read and written in pieces, so that loading and saving need no second copy. Must not
// be used while steps run, except as ReadState says. Everything it is made from outlives it.
class ParameterStore {
 public:
  ParameterStore(const Schedule& schedule, RunMemory& memory);

  using Source = ParameterSource;
  // Fills all masters from `source` and sets all moments to zero. InvalidArgument, naming the
  // tensor and the element, for a value that is not finite as bf16.
  absl::Status Fill(const Source& source);
  // Fills only the frozen tensors, which a checkpoint does not hold.
  absl::Status FillFrozen(const Source& source);

  // Reads the masters of a tensor from element `first` on as fp32 (converted from the bf16 weights
  // where the state has no low half). For a frozen tensor: the weights as compute reads them.
  absl::Status ReadMaster(const TensorSpec& tensor, uint64_t first, std::span<float> into) const;
  // Reads the high halves: the model in bf16.
  absl::Status ReadHi(const TensorSpec& tensor, uint64_t first, std::span<uint16_t> into) const;

  // A slice of a tensor in a chunk. places() lists the slices of each tensor in order; an embedding
  // or head table, and a tensor of several experts, may have several.
  struct Place {
    int32_t chunk = 0;
    TensorSlice slice;
  };
  std::span<const Place> places() const { return places_; }

  // The state of the trained parameters at a place, with exactly the bytes that a checkpoint holds.
  // StateBytes is 0 for a part that the state format does not have or the layout does not hold, and
  // for a frozen tensor. ReadState is also allowed while steps run, if the state is on the host and
  // the caller prevents updates of the chunk meanwhile. WriteState is not, and after the last write
  // RebuildResidentWeights must be called.
  Bytes StateBytes(const Place& place, StatePart part) const;
  absl::Status ReadState(const Place& place, StatePart part, uint64_t offset,
                         std::span<std::byte> into) const;
  absl::Status WriteState(const Place& place, StatePart part, uint64_t offset,
                          std::span<const std::byte> from);
  // Recomputes, from the masters, the weights that the `resident` strategy computes with. Does
  // nothing for other strategies.
  absl::Status RebuildResidentWeights();
  bool state_on_host() const { return schedule_.plan.strategy != Strategy::kResident; }

  // A hash of everything: masters, moments, and frozen tensors as compute reads them. Equal states
  // have equal digests, whatever the plan.
  absl::StatusOr<uint64_t> Digest() const;

  // A checksum (CRC-32C) of each frozen tensor as compute reads it, in the model's order. It
  // identifies the base that the trained tensors belong to. Equal whatever the plan.
  absl::StatusOr<std::vector<FrozenTensor>> ChecksumFrozen() const;

 private:
  struct Range {
    BufferId buffer = -1;
    uint64_t offset = 0;
    Bytes bytes;
  };
  Range RangeOf(const Place& place, StatePart part) const;
  // The chunk's buffer of weights that only the `resident` strategy has; -1 when there is none.
  BufferId ResidentWeightsBuffer(int32_t chunk) const;
  absl::Status FillPlace(const Place& place, const Source& source, std::vector<float>& values);
  // Reads the halves of the parameters at a place, wherever they are stored. `lo` becomes 0 where
  // there are no low halves.
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
  // The places of each tensor in order, and the tensors in the model's order.
  std::vector<std::vector<size_t>> places_of_tensor_;
  std::unordered_map<std::string_view, size_t> tensor_by_name_;
};

}  // namespace horizon

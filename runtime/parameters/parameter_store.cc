#include "runtime/parameters/parameter_store.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/optimizer/split_master.h"
#include "runtime/checkpoint/frozen_base.h"
#include "runtime/parameters/moment_layout.h"

namespace horizon {
namespace {

constexpr std::array<StatePart, 6> kStateParts = {StatePart::kHi,          StatePart::kLo,
                                                  StatePart::kFirstMoment, StatePart::kSecondMoment,
                                                  StatePart::kFirstScale,  StatePart::kSecondScale};

constexpr uint64_t kPiece = uint64_t{1} << 18;  // values handled at once

template <typename T>
std::span<const std::byte> BytesOf(const std::vector<T>& values, uint64_t count) {
  return std::as_bytes(std::span(values).first(count));
}
template <typename T>
std::span<std::byte> WritableBytesOf(std::vector<T>& values, uint64_t count) {
  return std::as_writable_bytes(std::span(values).first(count));
}

// FNV-1a over the bytes that are added, in order.
class Hash {
 public:
  void Add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      value_ = (value_ ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
    }
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

ParameterStore::ParameterStore(const Schedule& schedule, RunMemory& memory)
    : schedule_(schedule), memory_(memory) {
  for (int32_t c = 0; c < static_cast<int32_t>(schedule.chunks.chunks.size()); ++c) {
    ForEachSlice(schedule.chunks, c, [&](const TensorSlice& slice) {
      places_.push_back({c, slice});
    });
  }
  // Not by the order of places_: a tensor of several experts has other tensors between its slices.
  for (const Stage& stage : schedule.chunks.stages) {
    for (const TensorSpec& tensor : stage.tensors) {
      tensor_by_name_.emplace(tensor.name, tensor_by_name_.size());
    }
  }
  places_of_tensor_.resize(tensor_by_name_.size());
  for (size_t p = 0; p < places_.size(); ++p) {
    places_of_tensor_[tensor_by_name_.at(places_[p].slice.tensor->name)].push_back(p);
  }
}

absl::Status ParameterStore::Fill(const Source& source) {
  std::vector<float> values(kPiece);
  for (const Place& place : places_) RETURN_IF_ERROR(FillPlace(place, source, values));
  return ClearMoments();
}

absl::Status ParameterStore::FillFrozen(const Source& source) {
  std::vector<float> values(kPiece);
  for (const Place& place : places_) {
    if (!place.slice.trained()) RETURN_IF_ERROR(FillPlace(place, source, values));
  }
  return absl::OkStatus();
}

absl::Status ParameterStore::FillPlace(const Place& place, const Source& source,
                                       std::vector<float>& values) {
  for (uint64_t done = 0; done < place.slice.count; done += kPiece) {
    const uint64_t count = std::min(kPiece, place.slice.count - done);
    const std::span<float> piece(values.data(), count);
    RETURN_IF_ERROR(source(*place.slice.tensor, place.slice.first + done, piece));
    RETURN_IF_ERROR(WriteMasters(place, done, piece));
  }
  return absl::OkStatus();
}

absl::Status ParameterStore::WriteMasters(const Place& place, uint64_t offset,
                                          std::span<const float> values) {
  const uint64_t at = place.slice.offset + offset;
  std::vector<uint16_t> hi(values.size());
  std::vector<int16_t> lo(values.size());
  if (const absl::Status split = SplitMasterHost(values, hi, lo); !split.ok()) {
    return absl::InvalidArgumentError(StrCat(place.slice.tensor->name, " from element ",
                                             place.slice.first + offset, ": ",
                                             std::string(split.message())));
  }
  const BufferId hi_buffer = memory_.Find(BufferKind::kWeightsHi, place.chunk);
  const BufferId lo_buffer = memory_.Find(BufferKind::kWeightsLo, place.chunk);
  if (hi_buffer >= 0) RETURN_IF_ERROR(memory_.Put(hi_buffer, 2 * at, BytesOf(hi, hi.size())));
  if (lo_buffer >= 0 && HasLowHalf(schedule_.job, place.slice)) {
    const uint64_t low_at = LowHalfOffset(schedule_.job, place.slice) + offset;
    RETURN_IF_ERROR(memory_.Put(lo_buffer, 2 * low_at, BytesOf(lo, lo.size())));
  }
  return PutResident(place, offset, hi, lo);
}

BufferId ParameterStore::ResidentWeightsBuffer(int32_t chunk) const {
  if (state_on_host()) return -1;
  return memory_.Find(BufferKind::kResidentWeights, chunk);
}

// Strategy `resident` has what compute reads on the device from the start.
absl::Status ParameterStore::PutResident(const Place& place, uint64_t offset,
                                         std::span<const uint16_t> hi,
                                         std::span<const int16_t> lo) {
  const BufferId resident = ResidentWeightsBuffer(place.chunk);
  if (resident < 0) return absl::OkStatus();
  std::vector<float> weights(hi.size());
  const bool high_only = schedule_.job.compute_type == NumberType::kBf16 ||
                         schedule_.job.state_format == StateFormat::kBf16Weights;
  if (high_only) {
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = std::bit_cast<float>(uint32_t{hi[i]} << 16);
    }
  } else {
    RETURN_IF_ERROR(JoinMasterHost(hi, lo, weights));
  }
  return memory_.Put(resident, 4 * (place.slice.offset + offset), BytesOf(weights, weights.size()));
}

absl::Status ParameterStore::RebuildResidentWeights() {
  std::vector<uint16_t> hi(kPiece);
  std::vector<int16_t> lo(kPiece);
  for (const Place& place : places_) {
    if (!place.slice.trained() || ResidentWeightsBuffer(place.chunk) < 0) continue;
    for (uint64_t done = 0; done < place.slice.count; done += kPiece) {
      const uint64_t count = std::min(kPiece, place.slice.count - done);
      const std::span<uint16_t> high = std::span(hi).first(count);
      const std::span<int16_t> low = std::span(lo).first(count);
      RETURN_IF_ERROR(ReadHalves(place, done, high, low));
      RETURN_IF_ERROR(PutResident(place, done, high, low));
    }
  }
  return absl::OkStatus();
}

absl::Status ParameterStore::ReadHalves(const Place& place, uint64_t offset, std::span<uint16_t> hi,
                                        std::span<int16_t> lo) const {
  const BufferId hi_buffer = memory_.Find(BufferKind::kWeightsHi, place.chunk);
  if (hi_buffer < 0) {  // a frozen chunk on the device, whose copy is all there is of it
    std::vector<float> weights(hi.size());
    RETURN_IF_ERROR(memory_.Get(ResidentWeightsBuffer(place.chunk),
                                4 * (place.slice.offset + offset),
                                WritableBytesOf(weights, weights.size())));
    return SplitMasterHost(weights, hi, lo);
  }
  RETURN_IF_ERROR(
      memory_.Get(hi_buffer, 2 * (place.slice.offset + offset), std::as_writable_bytes(hi)));
  std::fill(lo.begin(), lo.end(), 0);
  const BufferId lo_buffer = memory_.Find(BufferKind::kWeightsLo, place.chunk);
  if (lo_buffer < 0 || !HasLowHalf(schedule_.job, place.slice)) return absl::OkStatus();
  const uint64_t at = LowHalfOffset(schedule_.job, place.slice) + offset;
  return memory_.Get(lo_buffer, 2 * at, std::as_writable_bytes(lo));
}

ParameterStore::Range ParameterStore::RangeOf(const Place& place, StatePart part) const {
  if (!place.slice.trained()) return {};
  if (part == StatePart::kHi || part == StatePart::kLo) {
    const bool high = part == StatePart::kHi;
    const BufferId buffer =
        memory_.Find(high ? BufferKind::kWeightsHi : BufferKind::kWeightsLo, place.chunk);
    if (buffer < 0) return {};
    const uint64_t begin = high ? place.slice.offset : LowHalfOffset(schedule_.job, place.slice);
    return {buffer, 2 * begin, 2_B * place.slice.count};
  }
  const BufferId moments = memory_.Find(BufferKind::kMoments, place.chunk);
  if (moments < 0) return {};
  const size_t index = static_cast<size_t>(part) - static_cast<size_t>(StatePart::kFirstMoment);
  const MomentPart found = MomentLayout(schedule_, place.chunk).PartsOf(place.slice)[index];
  return {moments, found.offset, found.bytes};
}

Bytes ParameterStore::StateBytes(const Place& place, StatePart part) const {
  return RangeOf(place, part).bytes;
}

absl::Status ParameterStore::ReadState(const Place& place, StatePart part, uint64_t offset,
                                       std::span<std::byte> into) const {
  const Range range = RangeOf(place, part);
  CHECK(offset + into.size() <= range.bytes.value());
  return memory_.Get(range.buffer, range.offset + offset, into);
}

absl::Status ParameterStore::WriteState(const Place& place, StatePart part, uint64_t offset,
                                        std::span<const std::byte> from) {
  const Range range = RangeOf(place, part);
  CHECK(offset + from.size() <= range.bytes.value());
  return memory_.Put(range.buffer, range.offset + offset, from);
}

absl::Status ParameterStore::ClearMoments() {
  const std::vector<std::byte> zeros(kPiece);
  for (int32_t c = 0; c < static_cast<int32_t>(schedule_.chunks.chunks.size()); ++c) {
    const BufferId moments = memory_.Find(BufferKind::kMoments, c);
    if (moments < 0) continue;
    const uint64_t bytes = memory_.buffer(moments).bytes.value();
    for (uint64_t done = 0; done < bytes; done += kPiece) {
      RETURN_IF_ERROR(
          memory_.Put(moments, done, std::span(zeros).first(std::min(kPiece, bytes - done))));
    }
  }
  return absl::OkStatus();
}

template <typename Visit>
absl::Status ParameterStore::ForRange(const TensorSpec& tensor, uint64_t first, uint64_t count,
                                      Visit visit) const {
  const auto known = tensor_by_name_.find(tensor.name);
  CHECK(known != tensor_by_name_.end());
  const std::vector<size_t>& indices = places_of_tensor_[known->second];
  const auto next = std::partition_point(indices.begin(), indices.end(), [&](size_t p) {
    return places_[p].slice.first + places_[p].slice.count <= first;
  });
  uint64_t found = 0;
  for (auto index = next; index != indices.end() && found < count; ++index) {
    const Place& place = places_[*index];
    const uint64_t begin = std::max(first, place.slice.first);
    const uint64_t end = std::min(first + count, place.slice.first + place.slice.count);
    if (begin >= end) continue;
    RETURN_IF_ERROR(visit(place, begin - place.slice.first, begin - first, end - begin));
    found += end - begin;
  }
  CHECK(found == count);
  return absl::OkStatus();
}

absl::Status ParameterStore::ReadHi(const TensorSpec& tensor, uint64_t first,
                                    std::span<uint16_t> into) const {
  std::vector<int16_t> lo(into.size());
  return ForRange(tensor, first, into.size(),
                  [&](const Place& place, uint64_t offset, uint64_t to, uint64_t count) {
                    return ReadHalves(place, offset, into.subspan(to, count),
                                      std::span(lo).subspan(to, count));
                  });
}

absl::Status ParameterStore::ReadMaster(const TensorSpec& tensor, uint64_t first,
                                        std::span<float> into) const {
  std::vector<uint16_t> hi(into.size());
  std::vector<int16_t> lo(into.size());
  RETURN_IF_ERROR(ForRange(tensor, first, into.size(),
                           [&](const Place& place, uint64_t offset, uint64_t to, uint64_t count) {
                             return ReadHalves(place, offset, std::span(hi).subspan(to, count),
                                               std::span(lo).subspan(to, count));
                           }));
  return JoinMasterHost(hi, lo, into);
}

// Calls visit(place, high halves, low halves) for the frozen tensors, one after the other and each
// piece by piece in order, however they are cut into chunks.
template <typename Visit>
absl::Status ParameterStore::ForFrozen(Visit visit) const {
  std::vector<uint16_t> hi(kPiece);
  std::vector<int16_t> lo(kPiece);
  for (const std::vector<size_t>& tensor : places_of_tensor_) {
    for (const size_t index : tensor) {
      const Place& place = places_[index];
      if (place.slice.trained()) break;
      for (uint64_t done = 0; done < place.slice.count; done += kPiece) {
        const uint64_t count = std::min(kPiece, place.slice.count - done);
        RETURN_IF_ERROR(
            ReadHalves(place, done, std::span(hi).first(count), std::span(lo).first(count)));
        visit(place, std::span<const uint16_t>(hi).first(count),
              std::span<const int16_t>(lo).first(count));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FrozenTensor>> ParameterStore::ChecksumFrozen() const {
  FrozenChecksums checksums;
  RETURN_IF_ERROR(
      ForFrozen([&](const Place& place, std::span<const uint16_t> hi, std::span<const int16_t> lo) {
        checksums.Add(place.slice.tensor->name, hi, lo);
      }));
  return checksums.Finish();
}

absl::StatusOr<uint64_t> ParameterStore::Digest() const {
  // One hash for each part, since a table in shards has them in another order.
  std::array<Hash, kStateParts.size()> hashes;
  std::vector<std::byte> bytes(kPiece);
  for (const Place& place : places_) {
    for (size_t p = 0; p < kStateParts.size(); ++p) {
      const uint64_t length = StateBytes(place, kStateParts[p]).value();
      for (uint64_t done = 0; done < length; done += kPiece) {
        const std::span piece = WritableBytesOf(bytes, std::min(kPiece, length - done));
        RETURN_IF_ERROR(ReadState(place, kStateParts[p], done, piece));
        hashes[p].Add(piece);
      }
    }
  }
  Hash frozen_hi;
  Hash frozen_lo;
  RETURN_IF_ERROR(
      ForFrozen([&](const Place&, std::span<const uint16_t> hi, std::span<const int16_t> lo) {
        frozen_hi.Add(std::as_bytes(hi));
        frozen_lo.Add(std::as_bytes(lo));
      }));
  Hash all;
  for (const Hash& hash : hashes) {
    const uint64_t value = hash.value();
    all.Add(std::as_bytes(std::span(&value, 1)));
  }
  if (schedule_.chunks.trained < schedule_.chunks.parameters) {
    const uint64_t values[] = {frozen_hi.value(), frozen_lo.value()};
    all.Add(std::as_bytes(std::span(values)));
  }
  return all.value();
}

}  // namespace horizon

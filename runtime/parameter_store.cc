#include "runtime/parameter_store.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "kernels/split_master.h"
#include "runtime/moment_layout.h"

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
}

absl::Status ParameterStore::Fill(const Source& source) {
  std::vector<float> values(kPiece);
  for (const Place& place : places_) {
    for (uint64_t done = 0; done < place.slice.count; done += kPiece) {
      const uint64_t count = std::min(kPiece, place.slice.count - done);
      const std::span<float> piece(values.data(), count);
      RETURN_IF_ERROR(source(*place.slice.tensor, place.slice.first + done, piece));
      RETURN_IF_ERROR(WriteMasters(place, done, piece));
    }
  }
  return ClearMoments();
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
  if (lo_buffer >= 0) RETURN_IF_ERROR(memory_.Put(lo_buffer, 2 * at, BytesOf(lo, lo.size())));
  return PutResident(place, offset, hi, lo);
}

// Strategy `resident` has what compute reads on the device from the start.
absl::Status ParameterStore::PutResident(const Place& place, uint64_t offset,
                                         std::span<const uint16_t> hi,
                                         std::span<const int16_t> lo) {
  const BufferId resident = memory_.Find(BufferKind::kResidentWeights, place.chunk);
  if (resident < 0 || schedule_.plan.strategy != Strategy::kResident) return absl::OkStatus();
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

absl::Status ParameterStore::RebuildCopies() {
  for (const Place& place : places_) {
    if (memory_.Find(BufferKind::kResidentWeights, place.chunk) < 0 || state_on_host()) continue;
    std::vector<uint16_t> hi(kPiece);
    std::vector<int16_t> lo(kPiece);
    for (uint64_t done = 0; done < place.slice.count; done += kPiece) {
      const uint64_t count = std::min(kPiece, place.slice.count - done);
      RETURN_IF_ERROR(ReadState(place, StatePart::kHi, 2 * done, WritableBytesOf(hi, count)));
      if (StateBytes(place, StatePart::kLo) > 0) {
        RETURN_IF_ERROR(ReadState(place, StatePart::kLo, 2 * done, WritableBytesOf(lo, count)));
      }
      RETURN_IF_ERROR(
          PutResident(place, done, std::span(hi).first(count), std::span(lo).first(count)));
    }
  }
  return absl::OkStatus();
}

ParameterStore::Range ParameterStore::RangeOf(const Place& place, StatePart part) const {
  if (part == StatePart::kHi || part == StatePart::kLo) {
    const BufferId buffer = memory_.Find(
        part == StatePart::kHi ? BufferKind::kWeightsHi : BufferKind::kWeightsLo, place.chunk);
    if (buffer < 0) return {};
    return {buffer, 2 * place.slice.offset, 2 * place.slice.count};
  }
  const BufferId moments = memory_.Find(BufferKind::kMoments, place.chunk);
  if (moments < 0) return {};
  const size_t index = static_cast<size_t>(part) - static_cast<size_t>(StatePart::kFirstMoment);
  const MomentPart found = MomentLayout(schedule_, place.chunk).PartsOf(place.slice)[index];
  return {moments, found.offset, found.bytes};
}

uint64_t ParameterStore::StateBytes(const Place& place, StatePart part) const {
  return RangeOf(place, part).bytes;
}

absl::Status ParameterStore::ReadState(const Place& place, StatePart part, uint64_t offset,
                                       std::span<std::byte> into) const {
  const Range range = RangeOf(place, part);
  CHECK(offset + into.size() <= range.bytes);
  return memory_.Get(range.buffer, range.offset + offset, into);
}

absl::Status ParameterStore::WriteState(const Place& place, StatePart part, uint64_t offset,
                                        std::span<const std::byte> from) {
  const Range range = RangeOf(place, part);
  CHECK(offset + from.size() <= range.bytes);
  return memory_.Put(range.buffer, range.offset + offset, from);
}

absl::Status ParameterStore::ClearMoments() {
  const std::vector<std::byte> zeros(kPiece);
  for (int32_t c = 0; c < static_cast<int32_t>(schedule_.chunks.chunks.size()); ++c) {
    const BufferId moments = memory_.Find(BufferKind::kMoments, c);
    if (moments < 0) continue;
    const uint64_t bytes = memory_.buffer(moments).bytes;
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
  uint64_t found = 0;
  for (const Place& place : places_) {
    if (place.slice.tensor->name != tensor.name) continue;
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
  return ForRange(tensor, first, into.size(),
                  [&](const Place& place, uint64_t offset, uint64_t to, uint64_t count) {
                    return memory_.Get(memory_.Find(BufferKind::kWeightsHi, place.chunk),
                                       2 * (place.slice.offset + offset),
                                       std::as_writable_bytes(into.subspan(to, count)));
                  });
}

absl::Status ParameterStore::ReadMaster(const TensorSpec& tensor, uint64_t first,
                                        std::span<float> into) const {
  std::vector<uint16_t> hi(into.size());
  RETURN_IF_ERROR(ReadHi(tensor, first, hi));
  std::vector<int16_t> lo(into.size(), 0);
  RETURN_IF_ERROR(ForRange(
      tensor, first, into.size(),
      [&](const Place& place, uint64_t offset, uint64_t to, uint64_t count) -> absl::Status {
        const BufferId buffer = memory_.Find(BufferKind::kWeightsLo, place.chunk);
        if (buffer < 0) return absl::OkStatus();
        return memory_.Get(buffer, 2 * (place.slice.offset + offset),
                           std::as_writable_bytes(std::span(lo).subspan(to, count)));
      }));
  return JoinMasterHost(hi, lo, into);
}

absl::StatusOr<uint64_t> ParameterStore::Digest() const {
  // One hash for each part, since a table in shards has them in another order.
  std::array<Hash, kStateParts.size()> hashes;
  std::vector<std::byte> bytes(kPiece);
  for (const Place& place : places_) {
    for (size_t p = 0; p < kStateParts.size(); ++p) {
      const uint64_t length = StateBytes(place, kStateParts[p]);
      for (uint64_t done = 0; done < length; done += kPiece) {
        const std::span piece = WritableBytesOf(bytes, std::min(kPiece, length - done));
        RETURN_IF_ERROR(ReadState(place, kStateParts[p], done, piece));
        hashes[p].Add(piece);
      }
    }
  }
  Hash all;
  for (const Hash& hash : hashes) {
    const uint64_t value = hash.value();
    all.Add(std::as_bytes(std::span(&value, 1)));
  }
  return all.value();
}

}  // namespace horizon

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
  RETURN_IF_ERROR(memory_.Put(hi_buffer, 2 * at, BytesOf(hi, hi.size())));
  if (lo_buffer >= 0) RETURN_IF_ERROR(memory_.Put(lo_buffer, 2 * at, BytesOf(lo, lo.size())));
  // Strategy `resident` has what compute reads on the device from the start.
  const BufferId resident = memory_.Find(BufferKind::kResidentWeights, place.chunk);
  if (resident < 0 || schedule_.plan.strategy != Strategy::kResident) return absl::OkStatus();
  std::vector<float> weights(values.begin(), values.end());
  if (schedule_.job.compute_type == NumberType::kBf16 || lo_buffer < 0) {
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = std::bit_cast<float>(uint32_t{hi[i]} << 16);
    }
  }
  return memory_.Put(resident, 4 * at, BytesOf(weights, weights.size()));
}

absl::Status ParameterStore::ClearMoments() {
  const std::vector<std::byte> zeros(kPiece);
  for (int32_t c = 0; c < static_cast<int32_t>(schedule_.chunks.chunks.size()); ++c) {
    const BufferId moments = memory_.Find(BufferKind::kMoments, c);
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
  // One hash for each kind of value, since a table in shards has them in another order.
  std::array<Hash, 6> hashes;
  std::vector<std::byte> bytes(kPiece);
  const auto add = [&](Hash& hash, BufferId buffer, uint64_t offset,
                       uint64_t length) -> absl::Status {
    for (uint64_t done = 0; buffer >= 0 && done < length; done += kPiece) {
      const std::span piece = WritableBytesOf(bytes, std::min(kPiece, length - done));
      RETURN_IF_ERROR(memory_.Get(buffer, offset + done, piece));
      hash.Add(piece);
    }
    return absl::OkStatus();
  };
  for (const Place& place : places_) {
    const uint64_t at = 2 * place.slice.offset;
    const uint64_t length = 2 * place.slice.count;
    const BufferId hi = memory_.Find(BufferKind::kWeightsHi, place.chunk);
    const BufferId lo = memory_.Find(BufferKind::kWeightsLo, place.chunk);
    RETURN_IF_ERROR(add(hashes[0], hi, at, length));
    RETURN_IF_ERROR(add(hashes[1], lo, at, length));
    const BufferId moments = memory_.Find(BufferKind::kMoments, place.chunk);
    const std::array<MomentPart, 4> parts =
        MomentLayout(schedule_, place.chunk).PartsOf(place.slice);
    for (size_t i = 0; i < parts.size(); ++i) {
      RETURN_IF_ERROR(add(hashes[2 + i], moments, parts[i].offset, parts[i].bytes));
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

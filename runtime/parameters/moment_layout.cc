#include "runtime/parameters/moment_layout.h"

namespace horizon {
namespace {

static_assert(kAdamBlock == kMomentBlock);

MomentType TypeOf(StateFormat format) {
  switch (format) {
    case StateFormat::kFp32:
    case StateFormat::kBf16Weights:
      return MomentType::kFp32;
    case StateFormat::kBf16Moments:
      return MomentType::kBf16;
    case StateFormat::k8BitMoments:
      return MomentType::k8Bit;
  }
  return MomentType::kFp32;
}

uint64_t BlocksIn(uint64_t parameters) { return (parameters + kMomentBlock - 1) / kMomentBlock; }

}  // namespace

MomentLayout::MomentLayout(const Schedule& schedule, int32_t chunk)
    : schedule_(schedule), chunk_(chunk), type_(TypeOf(schedule.job.state_format)) {}

uint64_t MomentLayout::BlocksBefore(const TensorSlice& slice) const {
  uint64_t blocks = 0;
  ForEachTrainedSlice(schedule_.chunks, chunk_, [&](const TensorSlice& other) {
    if (other.trained_offset < slice.trained_offset) blocks += BlocksIn(other.count);
  });
  return blocks;
}

std::array<MomentPart, 4> MomentLayout::PartsOf(const TensorSlice& slice) const {
  const Chunk& chunk = schedule_.chunks.chunks[chunk_];
  const uint64_t each = type_ == MomentType::kFp32 ? 4 : type_ == MomentType::kBf16 ? 2 : 1;
  const bool scaled = type_ == MomentType::k8Bit;
  const uint64_t scales = scaled ? 8 * chunk.moment_blocks : 0;
  const uint64_t before = scaled ? 4 * BlocksBefore(slice) : 0;
  const Bytes scale_bytes = scaled ? 4_B * BlocksIn(slice.count) : 0_B;
  return {
      MomentPart{scales + each * slice.trained_offset, Bytes(each * slice.count)},
      MomentPart{scales + each * (chunk.trained + slice.trained_offset), Bytes(each * slice.count)},
      MomentPart{before, scale_bytes},
      MomentPart{4 * chunk.moment_blocks * (scaled ? 1 : 0) + before, scale_bytes}};
}

}  // namespace horizon

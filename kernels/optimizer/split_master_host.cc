#include <bit>

#include "common/text/str_cat.h"
#include "kernels/optimizer/split_master.h"

namespace horizon {
namespace {

// The least magnitude, as bits, whose hi is infinite; infinities and NaN lie above it.
constexpr uint32_t kRefused = 0x7F7F8000;
constexpr uint32_t kMagnitude = 0x7FFFFFFF;

absl::Status DifferentSizes(size_t master, size_t hi, size_t lo) {
  return absl::InvalidArgumentError(
      StrCat("master, hi and lo differ in length: ", master, ", ", hi, ", ", lo));
}

// The loops have no exit, for the vector units' sake; they only tell that something was refused,
// and what it was is looked up afterwards.
bool Split(const float* __restrict master, uint16_t* __restrict hi, int16_t* __restrict lo,
           size_t count) {
  uint32_t refused = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(master[i]);
    hi[i] = static_cast<uint16_t>((bits + 0x8000) >> 16);
    lo[i] = static_cast<int16_t>(bits);
    refused |= (bits & kMagnitude) >= kRefused ? 1u : 0u;
  }
  return refused == 0;
}

bool Join(const uint16_t* __restrict hi, const int16_t* __restrict lo, float* __restrict master,
          size_t count) {
  uint32_t refused = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = (uint32_t{hi[i]} << 16) + static_cast<uint32_t>(int32_t{lo[i]});
    master[i] = std::bit_cast<float>(bits);
    refused |= (bits & kMagnitude) >= kRefused ? 1u : 0u;
  }
  return refused == 0;
}

size_t FirstRefused(std::span<const float> master) {
  size_t i = 0;
  while ((std::bit_cast<uint32_t>(master[i]) & kMagnitude) < kRefused) ++i;
  return i;
}

}  // namespace

absl::Status SplitMasterHost(std::span<const float> master, std::span<uint16_t> hi,
                             std::span<int16_t> lo) {
  if (master.size() != hi.size() || master.size() != lo.size()) {
    return DifferentSizes(master.size(), hi.size(), lo.size());
  }
  if (Split(master.data(), hi.data(), lo.data(), master.size())) return absl::OkStatus();
  const size_t index = FirstRefused(master);
  return absl::InvalidArgumentError(StrCat("the master at index ", index, " is ", master[index],
                                           ", which is not finite as bf16"));
}

absl::Status JoinMasterHost(std::span<const uint16_t> hi, std::span<const int16_t> lo,
                            std::span<float> master) {
  if (master.size() != hi.size() || master.size() != lo.size()) {
    return DifferentSizes(master.size(), hi.size(), lo.size());
  }
  if (Join(hi.data(), lo.data(), master.data(), master.size())) return absl::OkStatus();
  const size_t index = FirstRefused(master);
  return absl::DataLossError(StrCat("the halves at index ", index, " are hi ", hi[index],
                                    " and lo ", lo[index], ", which belong to no finite master"));
}

}  // namespace horizon

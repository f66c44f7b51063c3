#include <bit>
#include <cmath>

#include "common/text/str_cat.h"
#include "kernels/optimizer/split_master.h"

namespace horizon {
namespace {

absl::Status CheckSizes(size_t master, size_t hi, size_t lo) {
  if (master == hi && master == lo) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("master, hi and lo differ in length: ", master, ", ", hi, ", ", lo));
}

// The value a bf16 stands for.
float Widened(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }

}  // namespace

absl::Status SplitMasterReference(std::span<const float> master, std::span<uint16_t> hi,
                                  std::span<int16_t> lo) {
  if (absl::Status status = CheckSizes(master.size(), hi.size(), lo.size()); !status.ok()) {
    return status;
  }
  for (size_t i = 0; i < master.size(); ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(master[i]);
    const uint64_t rounded = (uint64_t{bits} + 0x8000) >> 16;
    hi[i] = static_cast<uint16_t>(rounded);
    lo[i] = static_cast<int16_t>(bits & 0xFFFF);
    if (!std::isfinite(master[i]) || !std::isfinite(Widened(hi[i]))) {
      return absl::InvalidArgumentError(
          StrCat("the master at index ", i, " is ", master[i], ", which is not finite as bf16"));
    }
  }
  return absl::OkStatus();
}

absl::Status JoinMasterReference(std::span<const uint16_t> hi, std::span<const int16_t> lo,
                                 std::span<float> master) {
  if (absl::Status status = CheckSizes(master.size(), hi.size(), lo.size()); !status.ok()) {
    return status;
  }
  for (size_t i = 0; i < master.size(); ++i) {
    const int64_t bits = int64_t{hi[i]} * 65536 + lo[i];
    master[i] = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!std::isfinite(master[i]) || !std::isfinite(Widened(hi[i]))) {
      return absl::DataLossError(StrCat("the halves at index ", i, " are hi ", hi[i], " and lo ",
                                        lo[i], ", which belong to no finite master"));
    }
  }
  return absl::OkStatus();
}

}  // namespace horizon

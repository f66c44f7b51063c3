#include "model/sample_lengths.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/check.h"

namespace horizon {
namespace {

constexpr int kStepBits = 3;  // 2^3 bins for each doubling

// The shortest length of the bin that a length falls into: all but its leading bits are cleared.
int64_t BinOf(int64_t length) {
  const auto width = static_cast<int>(std::bit_width(static_cast<uint64_t>(length)));
  const int cleared = width > kStepBits + 1 ? width - kStepBits - 1 : 0;
  return length >> cleared << cleared;
}

}  // namespace

CheckedU64 TokensOf(std::span<const SampleLength> lengths) {
  CheckedU64 tokens = 0;
  for (const SampleLength& each : lengths) {
    tokens += CheckedU64::FromSigned(each.length) * CheckedU64::FromSigned(each.samples);
  }
  return tokens;
}

int64_t MeanLength(std::span<const SampleLength> lengths, int64_t sequence) {
  CHECK(!lengths.empty());
  double tokens = 0;
  double samples = 0;
  for (const SampleLength& each : lengths) {
    const auto count = static_cast<double>(each.samples);
    tokens += static_cast<double>(std::min(each.length, sequence)) * count;
    samples += count;
  }
  return static_cast<int64_t>(std::llround(tokens / samples));
}

void SampleLengthCounter::Add(int64_t length) {
  CHECK(length >= 1);
  Bin& bin = bins_[BinOf(length)];
  ++bin.samples;
  bin.tokens += length;
}

std::vector<SampleLength> SampleLengthCounter::Finish() const {
  std::vector<SampleLength> lengths;
  const auto add = [&](int64_t length, int64_t samples) {
    if (samples > 0) lengths.push_back({.length = length, .samples = samples});
  };
  for (const auto& [start, bin] : bins_) {
    const int64_t shorter = bin.tokens / bin.samples;
    const int64_t longer = bin.tokens % bin.samples;  // samples that are one token longer
    add(shorter, bin.samples - longer);
    add(shorter + 1, longer);
  }
  return lengths;
}

}  // namespace horizon

#include "runtime/data/sample_mix.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/check.h"
#include "common/philox.h"
#include "common/text/str_cat.h"
#include "runtime/data/shuffled_order.h"

namespace horizon {
namespace {

// Keeps the order within a source apart from that of the epochs, which comes from the same seed.
constexpr uint64_t kPartStream = PhiloxStreamOf("sample_mix part");

// Shares `count` draws out by the weights; what rounding leaves goes to the largest remainders.
std::vector<int64_t> ShareOut(const std::vector<SampleMix::Part>& parts, int64_t count) {
  double weights = 0;
  for (const SampleMix::Part& part : parts) weights += part.weight;
  std::vector<int64_t> draws;
  std::vector<double> remainders;
  for (const SampleMix::Part& part : parts) {
    const double share = static_cast<double>(count) * (part.weight / weights);
    draws.push_back(static_cast<int64_t>(std::floor(share)));
    remainders.push_back(share - std::floor(share));
  }
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  int64_t left = count - std::accumulate(draws.begin(), draws.end(), int64_t{0});
  // Sums of shares may be off by a rounding, in either direction.
  for (size_t i = 0; left > 0; i = (i + 1) % order.size(), --left) ++draws[order[i]];
  for (; left < 0; ++left) --*std::max_element(draws.begin(), draws.end());
  return draws;
}

}  // namespace

absl::StatusOr<SampleMix> SampleMix::Create(std::vector<Part> parts, const Order& order) {
  CHECK(!parts.empty());
  SampleMix mix(order);
  size_t weights = 0;
  for (const Part& part : parts) {
    if (!(part.weight >= 0 && std::isfinite(part.weight))) {
      return absl::InvalidArgumentError(
          StrCat("data has the weight ", part.weight, "; a weight is a number above 0"));
    }
    weights += part.weight > 0 ? 1 : 0;
    mix.splits_.push_back(part.split);
    mix.draws_.push_back(part.split.count());
    mix.count_ += part.split.count();
  }
  if (weights != 0 && weights != parts.size()) {
    return absl::InvalidArgumentError(
        StrCat(weights, " of ", parts.size(),
               " data sources have a weight: give every one a weight, or none"));
  }
  mix.weighted_ = weights > 0 && parts.size() > 1;
  if (!mix.weighted_) return mix;
  mix.draws_ = ShareOut(parts, mix.count_);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (mix.draws_[i] >= 1) continue;
    return absl::InvalidArgumentError(StrCat("the weight ", parts[i].weight,
                                             " is so small that an epoch of ", mix.count_,
                                             " samples has none of that data; raise it"));
  }
  return mix;
}

SampleMix SampleMix::Of(const SampleSplit& split, const Order& order) {
  SampleMix mix(order);
  mix.splits_ = {split};
  mix.draws_ = {split.count()};
  mix.count_ = split.count();
  return mix;
}

SampleMix::Sample SampleMix::At(int64_t epoch, int64_t place) const {
  CHECK(place >= 0 && place < count_);
  const auto seed = static_cast<uint64_t>(order_.seed);
  int64_t draw = place;
  if (order_.shuffle) {
    const ShuffledOrder shuffled(static_cast<uint64_t>(count_), seed, static_cast<uint64_t>(epoch));
    draw = static_cast<int64_t>(shuffled.At(static_cast<uint64_t>(place)));
  }
  size_t part = 0;
  while (draw >= draws_[part]) draw -= draws_[part++];
  const SampleSplit& split = splits_[part];
  if (!weighted_) return {.part = part, .number = split.At(draw)};
  // Of all draws of the run so far, counted through the epochs.
  draw += epoch * draws_[part];
  int64_t index = draw % split.count();
  if (order_.shuffle) {
    const ShuffledOrder own(static_cast<uint64_t>(split.count()), seed ^ kPartStream ^ part,
                            static_cast<uint64_t>(draw / split.count()));
    index = static_cast<int64_t>(own.At(static_cast<uint64_t>(index)));
  }
  return {.part = part, .number = split.At(index)};
}

}  // namespace horizon

#include "runtime/data/sample_split.h"

#include <cmath>

#include "common/check.h"
#include "common/philox.h"
#include "common/text/str_cat.h"
#include "runtime/data/shuffled_order.h"

namespace horizon {
namespace {

// Keeps the draw apart from the orders of the epochs, which come from the same seed.
constexpr uint64_t kStream = PhiloxStreamOf("sample_split");

}  // namespace

absl::StatusOr<SampleSplit> SampleSplit::Create(int64_t total, double share, int64_t seed,
                                                Part part) {
  if (!(share >= 0 && share <= 0.5)) {
    return absl::InvalidArgumentError(
        StrCat("the share of samples held out for evaluation is ", share, "; it must be 0 to 0.5"));
  }
  if (part == Part::kAll || (part == Part::kTrain && share == 0)) return All(total);
  const auto held_out = static_cast<int64_t>(std::llround(share * static_cast<double>(total)));
  if (held_out < 1 || held_out >= total) {
    return absl::InvalidArgumentError(StrCat("a share of ", share, " of ", total,
                                             " samples for evaluation is ", held_out,
                                             "; choose another share or name a file of its own"));
  }
  if (part == Part::kEval) return SampleSplit(total, 0, held_out, seed);
  return SampleSplit(total, held_out, total - held_out, seed);
}

int64_t SampleSplit::At(int64_t index) const {
  CHECK(index >= 0 && index < count_);
  if (count_ == total_) return index;
  const ShuffledOrder order(static_cast<uint64_t>(total_), static_cast<uint64_t>(seed_) ^ kStream,
                            0);
  return static_cast<int64_t>(order.At(static_cast<uint64_t>(first_ + index)));
}

}  // namespace horizon

#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace horizon {

// A subset of the samples 0 .. total - 1, renumbered from 0: all, the training part or the
// evaluation part. The training and evaluation parts of one (total, share, seed) have no sample in
// common and leave none out. Which samples are held out is drawn from the seed once and is the same
// in every epoch. A pure value.
class SampleSplit {
 public:
  enum class Part { kAll, kTrain, kEval };
  // `share` is the fraction held out, 0 to 0.5. InvalidArgument when that leaves nothing to train
  // on or, with a share above 0, nothing to evaluate.
  static absl::StatusOr<SampleSplit> Create(int64_t total, double share, int64_t seed, Part part);
  static SampleSplit All(int64_t total) { return {total, 0, total, 0}; }

  int64_t count() const { return count_; }
  // `index` from 0 to count() - 1.
  int64_t At(int64_t index) const;

 private:
  SampleSplit(int64_t total, int64_t first, int64_t count, int64_t seed)
      : total_(total), first_(first), count_(count), seed_(seed) {}

  int64_t total_;
  int64_t first_;  // where this part begins in the drawn order
  int64_t count_;
  int64_t seed_;
};

}  // namespace horizon

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/sample_split.h"

namespace horizon {

// The order in which the samples of one or several sources of data are trained on, epoch after
// epoch. The sample at a place is a function of (seed, epoch, place) alone, so a run can resume
// anywhere without remembering the samples that it has seen.
//
// An epoch has as many samples as the sources together. Without weights it has each of them once:
// the places are one random permutation of all samples. With weights it draws from each source in
// proportion to its weight. For example, from two sources of 1,000 samples each with the weights 1
// and 3, an epoch draws 500 samples of the first and 1,500 of the second, in one random order. Each
// source goes through its own samples in its own permutations, so no sample comes again before all
// others of its source have come. A pure value; any thread.
class SampleMix {
 public:
  // The samples of one source, and how often it is drawn.
  struct Part {
    SampleSplit split;
    double weight = 0;  // above 0 for every part, or 0 for every part
  };
  struct Sample {
    size_t part = 0;
    int64_t number = 0;  // in the part's source
  };
  struct Order {
    bool shuffle = true;  // false: the parts one after the other, each in its own order
    int64_t seed = 0;
  };

  // `parts` has at least one. A single part has no use for a weight. InvalidArgument for weights
  // that are not finite or not above 0, that some parts have and others do not, or so small that an
  // epoch would have no sample of a part.
  static absl::StatusOr<SampleMix> Create(std::vector<Part> parts, const Order& order);
  // One source.
  static SampleMix Of(const SampleSplit& split, const Order& order);

  int64_t count() const { return count_; }  // samples of an epoch
  // The sample at a place from 0 to count() - 1 of an epoch.
  Sample At(int64_t epoch, int64_t place) const;
  // How many samples an epoch has of a part.
  int64_t DrawsOf(size_t part) const { return draws_[part]; }

 private:
  explicit SampleMix(const Order& order) : order_(order) {}

  std::vector<SampleSplit> splits_;
  std::vector<int64_t> draws_;  // of an epoch, by part
  bool weighted_ = false;
  Order order_;
  int64_t count_ = 0;
};

}  // namespace horizon

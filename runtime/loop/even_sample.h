#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace horizon {

// Keeps at most `most` values of a series of any length, evenly spaced over it: all of them as long
// as they fit, then every second, every fourth and so on. It serves for medians over a run whose
// memory must not grow with its steps.
class EvenSample {
 public:
  explicit EvenSample(size_t most) : most_(most) {}  // at least 2

  void Add(double value) {
    if (seen_++ % stride_ != 0) return;
    if (values_.empty()) values_.reserve(most_);
    if (values_.size() == most_) Thin();
    // After thinning, the value may be one of those that are left out from now on.
    if ((seen_ - 1) % stride_ == 0) values_.push_back(value);
  }
  const std::vector<double>& values() const { return values_; }  // in the order they were added

 private:
  void Thin() {
    size_t kept = 0;
    for (size_t i = 0; i < values_.size(); i += 2) values_[kept++] = values_[i];
    values_.resize(kept);
    stride_ *= 2;
  }

  size_t most_;
  uint64_t stride_ = 1;
  uint64_t seen_ = 0;
  std::vector<double> values_;
};

}  // namespace horizon

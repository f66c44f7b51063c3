#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace horizon {

// Lines of a run that grows for weeks, in memory that does not: all of them up to kMost, then every
// second, every fourth, ... The first and the last one are always there. `Line` is any value.
template <typename Line>
class ThinnedLines {
 public:
  static constexpr size_t kMost = 4000;

  void Add(Line line) {
    if (!last_is_kept()) lines_.pop_back();
    lines_.push_back(std::move(line));
    ++count_;
    if (lines_.size() > kMost) Halve();
  }
  void Clear() { *this = {}; }

  // In the order of adding; those at a multiple of every(), and the last.
  const std::vector<Line>& lines() const { return lines_; }
  bool empty() const { return lines_.empty(); }
  uint64_t count() const { return count_; }  // of all that were added
  uint64_t every() const { return every_; }
  // Whether the last line stays when another is added.
  bool last_is_kept() const { return count_ == 0 || (count_ - 1) % every_ == 0; }

 private:
  void Halve() {
    Line last = std::move(lines_.back());
    lines_.pop_back();
    size_t kept = 0;
    // The line at place i is number i * every_, but for the last.
    for (size_t i = 0; i < lines_.size(); i += 2) {
      if (i != kept) lines_[kept] = std::move(lines_[i]);
      ++kept;
    }
    lines_.resize(kept);
    every_ *= 2;
    lines_.push_back(std::move(last));
  }

  std::vector<Line> lines_;
  uint64_t count_ = 0;
  uint64_t every_ = 1;
};

}  // namespace horizon

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace horizon {

// Keeps lines of a run that may grow for weeks in bounded memory: all of them up to kMost, then
// every second one, every fourth one, ... The first and the last line are always kept. `Line` is
// any value type.
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

  // The kept lines in the order in which they were added: the lines at multiples of every(), and
  // the last one.
  const std::vector<Line>& lines() const { return lines_; }
  bool empty() const { return lines_.empty(); }
  uint64_t count() const { return count_; }  // of all lines that were added
  uint64_t every() const { return every_; }
  // Whether the last line will still be kept when another one is added.
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

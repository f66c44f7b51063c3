#pragma once

#include <algorithm>
#include <cstdint>

#include "common/kernel_context.h"
#include "kernels/gemm/tile_gemm.h"

namespace horizon {

// How the host kernels cut the multiplies of experts: into blocks of one expert that one worker
// computes, with packed copies of what it multiplies in the worker's scratch. Blocks depend on the
// sizes and on the rows of the experts, and change no bit: an entry is summed over tiles of
// kBlockTerms terms, counted from its first term, whatever block it is in.
inline constexpr int64_t kBlockTerms = 256;

// Rows that the micro-kernel computes together, on any processor: a block of as many times whole
// ones wastes nothing.
inline constexpr int64_t kRowStep = 12;
// Columns of whole vector blocks of the micro-kernel.
inline constexpr int64_t kColumnStep = 64;

inline constexpr int64_t kMostBlockRows = 22 * kRowStep;
inline constexpr int64_t kMostBlockColumns = 4 * kColumnStep;

// Elements from one packed row to the next: not a power of two, so that the rows do not compete for
// the same cache sets.
inline constexpr int64_t kTermStride = kBlockTerms + 16;
inline constexpr int64_t kColumnStride = kMostBlockColumns + 16;

constexpr int64_t InLaneGroups(int64_t columns) {
  return (columns + kLaneGroup - 1) / kLaneGroup * kLaneGroup;
}

// The rows of a block are packed as columns for the gradient of weights.
static_assert(InLaneGroups(kMostBlockRows) <= kColumnStride);
// Two packed operands of kBlockTerms terms, and a block of sums.
static_assert((kMostBlockRows * kTermStride + 2 * kBlockTerms * kColumnStride +
               kMostBlockRows * kMostBlockColumns) *
                  sizeof(float) <=
              kWorkerScratchBytes);

struct BlockRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

// A side of a matrix, cut into nearly equal ranges that begin at multiples of `step`. They are at
// most `most` long, which is a multiple of `step` too.
class CutSide {
 public:
  CutSide(int64_t size, int64_t most, int64_t step) : size_(size) {
    const int64_t ranges = std::max<int64_t>(1, (size + most - 1) / most);
    length_ = std::max(step, ((size + ranges - 1) / ranges + step - 1) / step * step);
  }
  int64_t count() const { return (size_ + length_ - 1) / length_; }
  BlockRange At(int64_t index) const {
    return {.begin = index * length_, .end = std::min(size_, (index + 1) * length_)};
  }

 private:
  int64_t size_;
  int64_t length_ = 0;
};

// A call of fewer blocks has narrower ones, so that several workers have something to do.
inline constexpr int64_t kEnoughBlocks = 16;

// Cuts a side so that `others` times the count of its ranges is enough, if the side is long enough.
inline CutSide CutColumns(int64_t size, int64_t others) {
  CutSide columns(size, kMostBlockColumns, kColumnStep);
  for (int64_t most = kMostBlockColumns / 2;
       most >= kColumnStep && columns.count() * others < kEnoughBlocks; most /= 2) {
    columns = CutSide(size, most, kColumnStep);
  }
  return columns;
}

// A part of the result of one expert. Rows count as in `begins`.
struct ExpertBlock {
  int64_t expert = 0;
  BlockRange rows;
  BlockRange columns;
};

// The blocks of a multiply of the rows of experts, [rows, n]: expert by expert, then by rows, then
// by columns.
class ExpertRowBlocks {
 public:
  ExpertRowBlocks(const int32_t* begins, int64_t experts, int64_t n)
      : begins_(begins),
        experts_(experts),
        row_ranges_(CountRowRanges()),
        columns_(CutColumns(n, row_ranges_)) {}

  int64_t count() const { return row_ranges_ * columns_.count(); }

  // Walks through the experts, which costs nothing beside the work of a block.
  ExpertBlock At(int64_t index) const {
    int64_t range = index / columns_.count();
    int64_t expert = 0;
    for (; range >= RowsOf(expert).count(); ++expert) range -= RowsOf(expert).count();
    const BlockRange rows = RowsOf(expert).At(range);
    const int64_t begin = begins_[expert];
    return {.expert = expert,
            .rows = {.begin = begin + rows.begin, .end = begin + rows.end},
            .columns = columns_.At(index % columns_.count())};
  }

 private:
  CutSide RowsOf(int64_t expert) const {
    return CutSide(begins_[expert + 1] - begins_[expert], kMostBlockRows, kRowStep);
  }
  int64_t CountRowRanges() const {
    int64_t count = 0;
    for (int64_t expert = 0; expert < experts_; ++expert) count += RowsOf(expert).count();
    return count;
  }

  const int32_t* begins_;
  int64_t experts_;
  int64_t row_ranges_;
  CutSide columns_;
};

}  // namespace horizon

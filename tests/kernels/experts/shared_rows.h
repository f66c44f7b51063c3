#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace horizon {

// Rows `first` to `first` + rows - 1, shared by experts at random, as in dispatch.h. Every third
// expert has none, if there are others.
inline std::vector<int32_t> ShareRows(std::mt19937& random, int64_t experts, int64_t rows,
                                      int64_t first = 0) {
  std::vector<int64_t> counts(static_cast<size_t>(experts), 0);
  for (int64_t row = 0; row < rows; ++row) {
    size_t expert = 0;
    do {
      expert = random() % counts.size();
    } while (expert % 3 == 1 && counts.size() > 1);
    ++counts[expert];
  }
  std::vector<int32_t> begins = {static_cast<int32_t>(first)};
  for (const int64_t count : counts) begins.push_back(begins.back() + static_cast<int32_t>(count));
  return begins;
}

// All rows belong to one expert.
inline std::vector<int32_t> GiveRowsTo(int64_t expert, int64_t experts, int64_t rows) {
  std::vector<int32_t> begins(static_cast<size_t>(experts) + 1, 0);
  std::fill(begins.begin() + expert + 1, begins.end(), static_cast<int32_t>(rows));
  return begins;
}

// Random indices below `count`.
inline std::vector<int32_t> RandomIndices(std::mt19937& random, int64_t size, int64_t count) {
  std::vector<int32_t> indices(static_cast<size_t>(size));
  for (int32_t& index : indices) {
    index = static_cast<int32_t>(random() % static_cast<uint64_t>(count));
  }
  return indices;
}

// The numbers 0 .. size - 1 in random order.
inline std::vector<int32_t> RandomOrder(std::mt19937& random, int64_t size) {
  std::vector<int32_t> order(static_cast<size_t>(size));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace horizon

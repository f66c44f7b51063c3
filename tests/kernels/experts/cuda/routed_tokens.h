#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace horizon {

// The experts that some tokens have chosen, for tests.
struct RoutedTokens {
  int64_t tokens = 0;
  int64_t experts = 0;
  int64_t per_token = 0;
  std::vector<int32_t> chosen;  // of each token, ascending
};

// Each token chooses among the first experts more often than among the last ones, so that some
// experts have many tokens and others few or none.
inline RoutedTokens RandomRoutes(int64_t tokens, int64_t experts, int64_t per_token,
                                 std::mt19937& random) {
  RoutedTokens routed = {.tokens = tokens, .experts = experts, .per_token = per_token};
  std::vector<int32_t> all(static_cast<size_t>(experts));
  for (int64_t token = 0; token < tokens; ++token) {
    std::iota(all.begin(), all.end(), 0);
    const int64_t likely = std::max(per_token, (experts + 1) / 2);
    std::shuffle(all.begin(), random() % 4 == 0 ? all.end() : all.begin() + likely, random);
    std::sort(all.begin(), all.begin() + per_token);
    routed.chosen.insert(routed.chosen.end(), all.begin(), all.begin() + per_token);
  }
  return routed;
}

// All tokens choose the same experts, from `first` on.
inline RoutedTokens EqualRoutes(int64_t tokens, int64_t experts, int64_t per_token, int64_t first) {
  RoutedTokens routed = {.tokens = tokens, .experts = experts, .per_token = per_token};
  for (int64_t token = 0; token < tokens; ++token) {
    for (int64_t i = 0; i < per_token; ++i) {
      routed.chosen.push_back(static_cast<int32_t>(first + i));
    }
  }
  return routed;
}

// begins[experts + 1] of experts with these numbers of rows, the first of which is `first`.
inline std::vector<int32_t> BeginsOf(const std::vector<int32_t>& rows, int32_t first = 0) {
  std::vector<int32_t> begins = {first};
  for (const int32_t of_expert : rows) begins.push_back(begins.back() + of_expert);
  return begins;
}

// A random order of 0 .. count - 1, for pairs of rows; or `count` random numbers below `below`, for
// rows that are gathered.
inline std::vector<int32_t> RandomOrder(int64_t count, std::mt19937& random) {
  std::vector<int32_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}
inline std::vector<int32_t> RandomRows(int64_t count, int64_t below, std::mt19937& random) {
  std::vector<int32_t> rows(static_cast<size_t>(count));
  for (int32_t& row : rows) row = static_cast<int32_t>(random() % static_cast<uint64_t>(below));
  return rows;
}

inline std::vector<float> RandomFp32(std::mt19937& random, int64_t count, float scale = 1.0f) {
  std::uniform_real_distribution<float> uniform(-scale, scale);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

}  // namespace horizon

#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/arguments/token_record.h"

namespace horizon {

// Token records of rows x sequence tokens, in which only the positions are set: every row is one
// sample ...
inline std::vector<TokenRecord> WholeRows(int64_t rows, int64_t sequence) {
  std::vector<TokenRecord> records;
  for (int64_t i = 0; i < rows * sequence; ++i) {
    records.push_back({.position = static_cast<int32_t>(i % sequence)});
  }
  return records;
}

// ... or every row holds several samples of 1 to `longest` tokens.
inline std::vector<TokenRecord> PackedRows(int64_t rows, int64_t sequence, int64_t longest,
                                           std::mt19937& random) {
  std::vector<TokenRecord> records = WholeRows(rows, sequence);
  int64_t left = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    const bool begins = static_cast<int64_t>(i) % sequence == 0 || left == 0;
    if (begins) left = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(longest));
    records[i].position = begins ? 0 : records[i - 1].position + 1;
    --left;
  }
  return records;
}

}  // namespace horizon

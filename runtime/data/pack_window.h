#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace horizon {

// Decides which samples share a row, for samples of these lengths (each 1 to `sequence`), by best
// fit decreasing: a row's lengths add up to at most `sequence`, and each sample is in one row.
// Samples are placed longest first, equal ones in their order. Each goes into the row with the
// least room that still fits it (the oldest of equal ones), or begins a new row. Returns the sample
// numbers of each row. A pure function.
std::vector<std::vector<int32_t>> PackWindow(std::span<const int64_t> lengths, int64_t sequence);

}  // namespace horizon

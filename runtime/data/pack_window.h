#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace horizon {

// Which samples share a row, for samples of these lengths (each 1 to `sequence`): best fit
// decreasing, so that a row's lengths add up to at most the sequence and each sample is in one row.
// The longest first, equal ones in their order; each goes into the row with the least room that
// still takes it, the oldest of equals, or begins a new one. A pure function.
std::vector<std::vector<int32_t>> PackWindow(std::span<const int64_t> lengths, int64_t sequence);

}  // namespace horizon

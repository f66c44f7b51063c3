#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <type_traits>
#include <vector>

#include "common/checked.h"

namespace horizon {

// How long the samples in packed rows are.
//
// A row of `sequence` tokens usually holds several samples, and a token attends only to earlier
// tokens of its own sample. So attention costs what the samples cost, and not what one sample of
// the row's length would cost. For example, a row of 1,024 tokens has 524,800 pairs of a query and
// a key if it is one sample, and 66,048 if it is eight samples of 128 tokens.

// Some samples of one length in tokens. A list of these is a histogram of lengths. Only the ratios
// of the numbers of samples matter.
struct SampleLength {
  int64_t length = 0;   // tokens
  int64_t samples = 0;  // how many are this long
  friend bool operator==(const SampleLength&, const SampleLength&) = default;
};

// Declares the fields of one entry (common/documents/record.h).
template <typename Record, typename Visitor>
requires std::is_same_v<std::remove_const_t<Record>, SampleLength>
void VisitFields(Record& entry, Visitor& visit) {
  visit("length", entry.length, {.unit = "tokens", .minimum = 1, .maximum = 1 << 24});
  visit("samples", entry.samples, {.unit = "samples", .minimum = 1, .maximum = 1e12});
}

// The tokens of all samples together; overflowed where they do not fit 64 bits.
CheckedU64 TokensOf(std::span<const SampleLength> lengths);

// The mean length in tokens, rounded, where samples are cut to `sequence` tokens. `lengths` is not
// empty.
int64_t MeanLength(std::span<const SampleLength> lengths, int64_t sequence);

// Counts the lengths of many samples in a few hundred entries. Lengths below 16 are exact. Longer
// ones share bins, 8 for each doubling of the length. A bin becomes at most two entries, whose
// lengths differ by one: so the number of samples and the number of tokens are exact, and the
// pairs that the samples see are at most 0.4 % too low. Used by one thread.
class SampleLengthCounter {
 public:
  void Add(int64_t length);  // at least 1 (CHECK)
  // The histogram, in ascending order of length; empty if nothing was added.
  std::vector<SampleLength> Finish() const;

 private:
  struct Bin {
    int64_t samples = 0;
    int64_t tokens = 0;
  };
  std::map<int64_t, Bin> bins_;  // by the shortest length of the bin
};

}  // namespace horizon

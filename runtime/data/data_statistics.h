#pragma once

#include <cstdint>

#include "runtime/data/length_histogram.h"

namespace horizon {

// What became of the records of data files.
struct DataStatistics {
  int64_t records = 0;         // read and understood: conversations, documents, ready samples
  int64_t bad_lines = 0;       // records passed over because something is wrong with them
  int64_t samples = 0;         // to train on, at most a sequence long each
  int64_t tokens = 0;          // of the samples
  int64_t trained_tokens = 0;  // those of them that are learnt
  int64_t truncated = 0;       // conversations longer than a sequence, cut there
  int64_t dropped = 0;         // records with nothing to learn: no text, or answers cut off wholly
  LengthHistogram lengths;     // of the records in tokens, before anything was cut
  friend bool operator==(const DataStatistics&, const DataStatistics&) = default;
};

}  // namespace horizon

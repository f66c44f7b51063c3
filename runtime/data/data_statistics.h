#pragma once

#include <cstdint>
#include <string>

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
  int64_t cut_before_end = 0;  // of the truncated: the last token that ends an answer was cut off
  int64_t without_end = 0;     // conversations that are learnt without a token that ends an answer
  LengthHistogram lengths;     // of the records in tokens, before anything was cut
  friend bool operator==(const DataStatistics&, const DataStatistics&) = default;
};

// For people: how many conversations teach no end (without_end > 0), and what follows from it.
std::string MissingEndText(const DataStatistics& statistics);

}  // namespace horizon

#pragma once

#include <cstdint>
#include <string>

#include "runtime/data/length_histogram.h"

namespace horizon {

// Counts of the records in data files and of the samples that were made from them.
struct DataStatistics {
  int64_t records = 0;         // valid records: conversations, documents, tokenised samples
  int64_t bad_lines = 0;       // malformed records that were skipped
  int64_t samples = 0;         // samples to train on, each at most a sequence long
  int64_t tokens = 0;          // tokens in the samples
  int64_t trained_tokens = 0;  // tokens in the samples that have a loss
  int64_t truncated = 0;       // conversations that were truncated to the sequence length
  int64_t dropped = 0;         // records with nothing to train on: no text, or no answer was left
  int64_t cut_before_end = 0;  // truncated conversations that lost their last end-of-answer token
  int64_t without_end = 0;     // conversations trained on without any end-of-answer token
  LengthHistogram lengths;     // of the records in tokens, before truncation
  void Add(const DataStatistics& other);
  friend bool operator==(const DataStatistics&, const DataStatistics&) = default;
};

// A message for the user: how many conversations have no end-of-answer token (without_end > 0), and
// what follows from that.
std::string MissingEndText(const DataStatistics& statistics);

}  // namespace horizon

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "runtime/data/data_statistics.h"
#include "runtime/data/token_line.h"

namespace horizon {

// Takes a sample of at most a sequence: ids and as many labels, not shifted, -100 where nothing is
// learnt. At least one label other than the first is learnt.
using SampleSink =
    std::function<absl::Status(std::span<const int32_t> ids, std::span<const int32_t> labels)>;

// Makes samples of at most `sequence` tokens (>= 2) out of records of any length and keeps count.
// One thread; nothing is kept between calls but the rest of a document.
class SampleCutter {
 public:
  SampleCutter(int64_t sequence, SampleSink sink) : sequence_(sequence), sink_(std::move(sink)) {}

  // A record that stays one sample: what is longer than the sequence is cut off. If nothing to
  // learn remains it is dropped.
  absl::Status AddSample(const TokenLine& line);

  // A part of a document, all of whose tokens are learnt. It becomes samples of `sequence` tokens
  // and a shorter last one, each beginning with the last token of the one before: that one was
  // learnt already, and the next is learnt knowing it.
  absl::Status AddToDocument(std::span<const int32_t> ids);
  absl::Status EndDocument();

  void CountBadLine() { ++statistics_.bad_lines; }
  const DataStatistics& statistics() const { return statistics_; }

 private:
  absl::Status Give(std::span<const int32_t> ids, std::span<const int32_t> labels);

  const int64_t sequence_;
  const SampleSink sink_;
  DataStatistics statistics_;
  std::vector<int32_t> pending_;  // of the document, not yet given
  int64_t document_tokens_ = 0;
};

}  // namespace horizon

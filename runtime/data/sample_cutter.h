#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "runtime/data/data_statistics.h"
#include "runtime/data/token_line.h"

namespace horizon {

// Receives a sample of at most `sequence` tokens: ids and as many labels. The labels are not
// shifted, and are -100 where no loss is computed. At least one label other than the first is
// trained on.
using SampleSink =
    std::function<absl::Status(std::span<const int32_t> ids, std::span<const int32_t> labels)>;

// Makes samples of at most `sequence` tokens (>= 2) from records of any length, and counts them.
// Used by one thread. Between calls it keeps only the rest of a document.
class SampleCutter {
 public:
  SampleCutter(int64_t sequence, SampleSink sink) : sequence_(sequence), sink_(std::move(sink)) {}

  // Adds a record that stays one sample: tokens beyond the sequence are cut off. If no trained
  // token remains, the record is dropped.
  absl::Status AddSample(const TokenLine& line);

  // Adds a part of a document, in which every token is trained on. The document becomes samples of
  // `sequence` tokens and a shorter last one. Each begins with the last token of the one before:
  // that token has been trained on there, and here it is the context of the next one.
  absl::Status AddToDocument(std::span<const int32_t> ids);
  absl::Status EndDocument();

  void CountBadLine() { ++statistics_.bad_lines; }
  const DataStatistics& statistics() const { return statistics_; }

 private:
  // Counts the sample and passes it to the sink.
  absl::Status Emit(std::span<const int32_t> ids, std::span<const int32_t> labels);

  const int64_t sequence_;
  const SampleSink sink_;
  DataStatistics statistics_;
  std::vector<int32_t> pending_;  // tokens of the document that are in no sample yet
  int64_t document_tokens_ = 0;
};

}  // namespace horizon

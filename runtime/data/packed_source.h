#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/arguments/token_record.h"
#include "runtime/data/cache/token_cache.h"
#include "runtime/data/sample_split.h"
#include "runtime/data/token_source.h"

namespace horizon {

// Makes rows for training or evaluation from a token cache. The samples of an epoch, in an order
// drawn from seed and epoch, are taken in windows of 1024. The samples of a window are packed into
// rows (pack_window.h), which are shuffled again. So rows are a pure function of the cache, the
// options and the position; an epoch has every sample once; and it needs memory only for the places
// of one window, however large the data is.
class PackedSource final : public TokenSource {
 public:
  struct Options {
    bool packing = true;  // several samples in a row; false: one row for each sample
    bool shuffle = true;  // false: samples and windows come in the cache's order
    int64_t seed = 0;
    // false: there is one epoch, for evaluation, and the last micro-batch is filled up with rows
    // without labels.
    bool endless = true;
  };
  static constexpr int64_t kWindow = 1024;

  // `cache` outlives the source. Rows have the cache's sequence.
  PackedSource(const TokenCache& cache, const SampleSplit& split, const Options& options);

  // DataLoss when the cache file has changed since it was opened.
  absl::StatusOr<int64_t> Fill(std::span<TokenRecord> records) override;
  // The position's index is 1024 times the window's number plus the row within the window. A window
  // has at most 1024 rows and often fewer, so not every index is a position.
  DataPosition position() const override { return position_; }
  // Reads the places of one window, because they determine its rows.
  absl::Status Seek(DataPosition position) override;

  // Whether every sample has been returned; never when endless. Seek({}) starts again.
  bool at_end() const { return !options_.endless && position_.epoch > 0; }
  int64_t samples() const { return split_.count(); }

 private:
  // The samples of a window, and which of them share a row, in the order of the rows.
  struct Window {
    DataPosition start = {.epoch = -1};
    std::vector<int64_t> samples;
    std::vector<SamplePlace> places;
    std::vector<std::vector<int32_t>> rows;
  };
  absl::Status LoadWindow(DataPosition position);
  absl::Status FillRow(const std::vector<int32_t>& samples, std::span<TokenRecord> row);
  DataPosition After(DataPosition position) const;

  const TokenCache& cache_;
  const SampleSplit split_;
  const Options options_;
  DataPosition position_;
  Window window_;
  std::string scratch_;
  TokenLine line_;
};

}  // namespace horizon

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

// Rows of training or evaluation out of a token cache. The samples of an epoch, in an order drawn
// from seed and epoch, are taken in windows of 1024; those of a window are packed into rows
// (pack_window.h), which come in an order drawn again. So rows are a pure function of the cache,
// the options and the position, an epoch has every sample once, and memory is that of a window's
// places whatever the data is.
class PackedSource final : public TokenSource {
 public:
  struct Options {
    bool packing = true;  // several samples in a row; otherwise each has a row of its own
    bool shuffle = true;  // otherwise samples and windows come in the cache's order
    int64_t seed = 0;
    // Otherwise there is one epoch, for evaluation: what a micro-batch has left after its last
    // sample is rows without labels.
    bool endless = true;
  };
  static constexpr int64_t kWindow = 1024;

  // `cache` outlives the source. Rows have the cache's sequence.
  PackedSource(const TokenCache& cache, const SampleSplit& split, const Options& options);

  // DataLoss where the cache has changed under it.
  absl::StatusOr<int64_t> Fill(std::span<TokenRecord> records) override;
  // The position's index is 1024 times the window and, added, the row in it. A window has at most
  // 1024 rows and often fewer: not every index is a position.
  DataPosition position() const override { return position_; }
  // Reads the places of one window to know its rows.
  absl::Status Seek(DataPosition position) override;

  // Every sample has been given: never when endless. Seek({}) begins again.
  bool at_end() const { return !options_.endless && position_.epoch > 0; }
  int64_t samples() const { return split_.count(); }

 private:
  // The samples of a window, and which of them share a row, in the order they come in.
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

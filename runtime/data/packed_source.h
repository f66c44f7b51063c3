#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/arguments/token_record.h"
#include "model/sample_lengths.h"
#include "runtime/data/cache/token_cache.h"
#include "runtime/data/sample_mix.h"
#include "runtime/data/sample_split.h"
#include "runtime/data/token_source.h"

namespace horizon {

// Makes rows for training or evaluation from token caches. The samples of an epoch, in an order
// drawn from seed and epoch (sample_mix.h), are taken in windows of 1024. The samples of a window
// are packed into rows (pack_window.h), which are shuffled again. So rows are a pure function of
// the caches, the options and the position; without weights an epoch has every sample once; and it
// needs memory only for the places of one window, however large the data is.
class PackedSource final : public TokenSource {
 public:
  struct Options {
    bool packing = true;  // several samples in a row; false: one row for each sample
    bool shuffle = true;  // false: samples and windows come in the cache's order
    int64_t seed = 0;
    // The number of epochs after which the data ends (1 for evaluation); then rows of padding
    // without labels follow. 0: the data never ends.
    int64_t epochs = 0;
  };
  static constexpr int64_t kWindow = 1024;

  // Part i of `mix` is of caches[i]. The caches have one sequence, which rows have too, and outlive
  // the source. `mix` has the order of `options`.
  PackedSource(std::vector<const TokenCache*> caches, SampleMix mix, const Options& options);
  // One cache.
  PackedSource(const TokenCache& cache, const SampleSplit& split, const Options& options);

  // DataLoss when the cache file has changed since it was opened.
  absl::StatusOr<int64_t> Fill(std::span<TokenRecord> records) override;
  // The position's index is 1024 times the window's number plus the row within the window. A window
  // has at most 1024 rows and often fewer, so not every index is a position.
  DataPosition position() const override { return position_; }
  // Counts samples, not rows.
  double passes() const override;
  // Reads the places of one window, because they determine its rows.
  absl::Status Seek(DataPosition position) override;

  // Whether every sample of every epoch has been returned. Seek({}) starts again.
  bool at_end() const { return EndsBefore(position_.epoch); }
  int64_t samples() const { return mix_.count(); }  // of an epoch
  int64_t sequence() const { return caches_.front()->sequence(); }

  // Counts the rows from `begin`, a position of this data, until `epochs` epochs are complete:
  // CountRows({}, 3) counts the rows of three epochs. It packs every window as Fill does, and reads
  // no tokens: about a second for a million samples. It needs memory for one window and does not
  // move the position. Errors are TokenCache::PlaceOf's.
  absl::StatusOr<int64_t> CountRows(DataPosition begin, int64_t epochs) const;

  // Counts the lengths of the samples in the first `rows` rows of the data, at most one epoch. The
  // padding after the last sample of a row is counted as a sample, because it is computed like one;
  // so the lengths add up to the rows. Of more than kMostCounted samples, the first ones stand for
  // all. Takes as long as CountRows. Errors are TokenCache::PlaceOf's.
  static constexpr int64_t kMostCounted = int64_t{1} << 20;
  absl::StatusOr<std::vector<SampleLength>> CountLengths(int64_t rows) const;

 private:
  // The samples of a window, and which of them share a row, in the order of the rows.
  struct Window {
    DataPosition start = {.epoch = -1};
    std::vector<SampleMix::Sample> samples;
    std::vector<SamplePlace> places;
    std::vector<std::vector<int32_t>> rows;
  };
  // The window that holds a position.
  absl::StatusOr<Window> WindowAt(DataPosition position) const;
  absl::Status LoadWindow(DataPosition position);
  // Whether the data ends before this epoch, counted from 0.
  bool EndsBefore(int64_t epoch) const { return options_.epochs > 0 && epoch >= options_.epochs; }
  absl::Status FillRow(const std::vector<int32_t>& samples, std::span<TokenRecord> row);
  DataPosition After(DataPosition position) const;

  const std::vector<const TokenCache*> caches_;
  const SampleMix mix_;
  const Options options_;
  DataPosition position_;
  Window window_;
  std::string scratch_;
  TokenLine line_;
};

}  // namespace horizon

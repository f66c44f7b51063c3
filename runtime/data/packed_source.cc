#include "runtime/data/packed_source.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/check.h"
#include "common/philox.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/embedding/embedding.h"
#include "runtime/data/pack_window.h"
#include "runtime/data/shuffled_order.h"

namespace horizon {
namespace {

constexpr uint64_t kRowStream = PhiloxStreamOf("packed_source rows");

// Fills the rest of a row after its last sample: one more sample, with id 0 and without labels.
void Pad(std::span<TokenRecord> rest) {
  for (size_t t = 0; t < rest.size(); ++t) {
    rest[t].position = static_cast<int32_t>(t);
    rest[t].label = kPaddingLabel;
  }
}

}  // namespace

PackedSource::PackedSource(std::vector<const TokenCache*> caches, SampleMix mix,
                           const Options& options)
    : caches_(std::move(caches)), mix_(std::move(mix)), options_(options) {
  CHECK(!caches_.empty() && mix_.count() >= 1);
}

PackedSource::PackedSource(const TokenCache& cache, const SampleSplit& split,
                           const Options& options)
    : PackedSource({&cache},
                   SampleMix::Of(split, {.shuffle = options.shuffle, .seed = options.seed}),
                   options) {}

absl::StatusOr<PackedSource::Window> PackedSource::WindowAt(DataPosition position) const {
  const int64_t number = position.index / kWindow;
  const DataPosition start = {.epoch = position.epoch, .index = number * kWindow};
  const int64_t end = std::min(start.index + kWindow, mix_.count());
  const auto seed = static_cast<uint64_t>(options_.seed);
  const auto epoch = static_cast<uint64_t>(start.epoch);
  Window window = {.start = start};
  std::vector<int64_t> lengths;
  for (int64_t place = start.index; place < end; ++place) {
    const SampleMix::Sample sample = mix_.At(start.epoch, place);
    ASSIGN_OR_RETURN(const SamplePlace at, caches_[sample.part]->PlaceOf(sample.number));
    window.samples.push_back(sample);
    window.places.push_back(at);
    lengths.push_back(at.tokens);
  }
  if (options_.packing) {
    window.rows = PackWindow(lengths, sequence());
  } else {
    for (int32_t i = 0; i < static_cast<int32_t>(lengths.size()); ++i) window.rows.push_back({i});
  }
  if (options_.shuffle && options_.packing) {
    const ShuffledOrder rows(window.rows.size(), seed ^ kRowStream ^ static_cast<uint64_t>(number),
                             epoch);
    std::vector<std::vector<int32_t>> shuffled(window.rows.size());
    for (uint64_t i = 0; i < shuffled.size(); ++i) shuffled[i] = std::move(window.rows[rows.At(i)]);
    window.rows = std::move(shuffled);
  }
  return window;
}

absl::Status PackedSource::LoadWindow(DataPosition position) {
  const DataPosition start = {.epoch = position.epoch, .index = position.index / kWindow * kWindow};
  if (window_.start == start) return absl::OkStatus();
  ASSIGN_OR_RETURN(window_, WindowAt(position));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> PackedSource::CountRows(DataPosition begin, int64_t epochs) const {
  int64_t rows = 0;
  int64_t skip = begin.index % kWindow;  // rows of the first window that come before
  int64_t first = begin.index - skip;
  for (int64_t epoch = begin.epoch; epoch < epochs; ++epoch) {
    if (options_.packing) {
      for (int64_t index = first; index < mix_.count(); index += kWindow) {
        ASSIGN_OR_RETURN(const Window window, WindowAt({.epoch = epoch, .index = index}));
        rows += static_cast<int64_t>(window.rows.size());
      }
    } else {
      rows += mix_.count() - first;
    }
    rows -= std::exchange(skip, 0);
    first = 0;
  }
  return rows;
}

absl::StatusOr<std::vector<SampleLength>> PackedSource::CountLengths(int64_t rows) const {
  SampleLengthCounter counter;
  const int64_t end = std::min(mix_.count(), kMostCounted);
  for (int64_t index = 0; index < end && rows > 0; index += kWindow) {
    ASSIGN_OR_RETURN(const Window window, WindowAt({.epoch = 0, .index = index}));
    for (const std::vector<int32_t>& row : window.rows) {
      if (rows-- == 0) break;
      int64_t left = sequence();
      for (const int32_t sample : row) {
        const int64_t length = window.places[static_cast<size_t>(sample)].tokens;
        counter.Add(length);
        left -= length;
      }
      if (left > 0) counter.Add(left);
    }
  }
  return counter.Finish();
}

// The position after a row of the loaded window.
DataPosition PackedSource::After(DataPosition position) const {
  const int64_t row = position.index - window_.start.index + 1;
  if (row < static_cast<int64_t>(window_.rows.size())) {
    return {.epoch = position.epoch, .index = position.index + 1};
  }
  const int64_t next = window_.start.index + kWindow;
  if (next < mix_.count()) return {.epoch = position.epoch, .index = next};
  return {.epoch = position.epoch + 1};
}

absl::Status PackedSource::FillRow(const std::vector<int32_t>& samples,
                                   std::span<TokenRecord> row) {
  size_t begin = 0;
  for (const int32_t number : samples) {
    const auto i = static_cast<size_t>(number);
    const SampleMix::Sample& sample = window_.samples[i];
    RETURN_IF_ERROR(caches_[sample.part]->Read(sample.number, window_.places[i], scratch_, line_));
    const size_t length = line_.ids.size();
    CHECK(length <= row.size() - begin);
    for (size_t t = 0; t < length; ++t) {
      TokenRecord& record = row[begin + t];
      record.id = line_.ids[t];
      record.position = static_cast<int32_t>(t);
      if (t + 1 < length) record.label = line_.labels[t + 1];
    }
    begin += length;
  }
  Pad(row.subspan(begin));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> PackedSource::Fill(std::span<TokenRecord> records) {
  const auto sequence = static_cast<size_t>(this->sequence());
  CHECK(!records.empty() && records.size() % sequence == 0);
  std::fill(records.begin(), records.end(), TokenRecord());
  DataPosition next = position_;
  for (size_t begin = 0; begin < records.size(); begin += sequence) {
    const std::span<TokenRecord> row = records.subspan(begin, sequence);
    if (EndsBefore(next.epoch)) {
      Pad(row);
      continue;
    }
    RETURN_IF_ERROR(LoadWindow(next));
    RETURN_IF_ERROR(
        FillRow(window_.rows[static_cast<size_t>(next.index - window_.start.index)], row));
    next = After(next);
  }
  LinkSameTokens(records);
  position_ = next;
  return std::count_if(records.begin(), records.end(),
                       [](const TokenRecord& record) { return record.label >= 0; });
}

double PackedSource::passes() const {
  int64_t taken = position_.index / kWindow * kWindow;
  // Within a window, that window is loaded.
  for (int64_t row = 0; row < position_.index % kWindow; ++row) {
    taken += static_cast<int64_t>(window_.rows[static_cast<size_t>(row)].size());
  }
  return static_cast<double>(position_.epoch) +
         static_cast<double>(taken) / static_cast<double>(mix_.count());
}

absl::Status PackedSource::Seek(DataPosition position) {
  absl::Status refused = absl::InvalidArgumentError(StrCat(
      "cannot go on at position ", position.index, " of epoch ", position.epoch,
      " of the data, which has ", mix_.count(), " samples; is it the data the run began with?"));
  if (position.epoch < 0 || position.index < 0) return refused;
  if (EndsBefore(position.epoch)) {
    if (position != DataPosition{.epoch = options_.epochs}) return refused;
    position_ = position;
    return absl::OkStatus();
  }
  if (position.index / kWindow * kWindow >= mix_.count()) return refused;
  RETURN_IF_ERROR(LoadWindow(position));
  if (position.index - window_.start.index >= static_cast<int64_t>(window_.rows.size())) {
    return refused;
  }
  position_ = position;
  return absl::OkStatus();
}

}  // namespace horizon

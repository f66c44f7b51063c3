#include "runtime/data/token_data.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "kernels/embedding.h"
#include "runtime/data/shuffled_order.h"

namespace horizon {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;

absl::Status BadLine(const std::string& path, size_t line, std::string_view reason) {
  return absl::InvalidArgumentError(StrCat(path, ":", line, ": ", reason));
}

absl::Status LineTooLong(const std::string& path, size_t line) {
  return BadLine(path, line, StrCat("the line is longer than ", ToString(TokenData::kLongestLine)));
}

// Hands every line of a file to `take`, with where it begins and without its newline.
absl::Status ForEachLine(File& file, const std::string& path,
                         const std::function<absl::Status(uint64_t, std::string_view)>& take) {
  const size_t longest = TokenData::kLongestLine.value();
  std::string held;  // read, not yet handed on; begins with a line
  uint64_t held_at = 0;
  size_t line = 1;
  while (true) {
    const size_t before = held.size();
    held.resize(before + kReadBytes);
    ASSIGN_OR_RETURN(const size_t count,
                     file.ReadAt(held_at + before, std::as_writable_bytes(std::span(held).subspan(
                                                       before, kReadBytes))));
    held.resize(before + count);
    size_t begin = 0;
    for (size_t end = held.find('\n', before); end != std::string::npos;
         end = held.find('\n', begin)) {
      if (end - begin > longest) return LineTooLong(path, line);
      RETURN_IF_ERROR(take(held_at + begin, std::string_view(held).substr(begin, end - begin)));
      begin = end + 1;
      ++line;
    }
    held.erase(0, begin);
    held_at += begin;
    if (held.size() > longest) return LineTooLong(path, line);
    if (count == 0) break;
  }
  return held.empty() ? absl::OkStatus() : take(held_at, held);
}

int64_t CountLabels(const TokenLine& line) {
  return std::count_if(line.labels.begin() + 1, line.labels.end(),
                       [](int32_t label) { return label >= 0; });
}

// One row: the sample, each token with the label of the next, then padding.
void FillRow(const TokenLine& line, std::span<TokenRecord> row) {
  std::fill(row.begin(), row.end(), TokenRecord());
  for (size_t t = line.ids.size(); t < row.size(); ++t) {
    row[t].position = static_cast<int32_t>(t - line.ids.size());
  }
  for (size_t t = 0; t < line.ids.size(); ++t) {
    row[t].id = line.ids[t];
    row[t].position = static_cast<int32_t>(t);
    if (t + 1 < line.ids.size()) row[t].label = line.labels[t + 1];
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenData>> TokenData::Open(Io& io, const std::string& path,
                                                           const Options& options) {
  CHECK(options.sequence >= 1 && options.vocab >= 1);
  std::unique_ptr<TokenData> data(new TokenData(path, options));
  ASSIGN_OR_RETURN(data->file_, io.Open(path, OpenMode::kRead));
  RETURN_IF_ERROR(data->Index());
  return data;
}

absl::Status TokenData::Index() {
  uint64_t end = 0;
  RETURN_IF_ERROR(ForEachLine(*file_, path_, [&](uint64_t start, std::string_view text) {
    end = start + text.size();
    return TakeLine(start, text);
  }));
  if (starts_.empty()) {
    return absl::InvalidArgumentError(StrCat(path_, " holds no samples: it is empty"));
  }
  starts_.push_back(end);
  starts_.shrink_to_fit();
  return absl::OkStatus();
}

absl::Status TokenData::TakeLine(uint64_t start, std::string_view text) {
  const absl::Status parsed =
      ParseTokenLine(text, {.sequence = options_.sequence, .vocab = options_.vocab}, line_);
  if (!parsed.ok()) return BadLine(path_, starts_.size() + 1, std::string(parsed.message()));
  starts_.push_back(start);
  tokens_ += static_cast<int64_t>(line_.ids.size());
  labelled_tokens_ += CountLabels(line_);
  return absl::OkStatus();
}

absl::Status TokenData::ReadSample(int64_t sample) {
  const auto at = static_cast<size_t>(sample);
  text_.resize(starts_[at + 1] - starts_[at]);
  ASSIGN_OR_RETURN(const size_t count,
                   file_->ReadAt(starts_[at], std::as_writable_bytes(std::span(text_))));
  std::string_view text = text_;
  if (text.back() == '\n') text.remove_suffix(1);
  const absl::Status parsed =
      count == text_.size()
          ? ParseTokenLine(text, {.sequence = options_.sequence, .vocab = options_.vocab}, line_)
          : absl::InvalidArgumentError("it is shorter");
  if (parsed.ok()) return absl::OkStatus();
  return absl::DataLossError(
      StrCat(path_, ":", at + 1, ": the file has changed since it was opened: ", parsed.message()));
}

absl::StatusOr<int64_t> TokenData::Fill(std::span<TokenRecord> records) {
  const auto sequence = static_cast<size_t>(options_.sequence);
  CHECK(!records.empty() && records.size() % sequence == 0);
  DataPosition next = position_;
  int64_t labelled = 0;
  for (size_t row = 0; row < records.size(); row += sequence) {
    int64_t sample = next.index;
    if (options_.shuffle) {
      const ShuffledOrder order(static_cast<uint64_t>(samples()),
                                static_cast<uint64_t>(options_.seed),
                                static_cast<uint64_t>(next.epoch));
      sample = static_cast<int64_t>(order.At(static_cast<uint64_t>(next.index)));
    }
    RETURN_IF_ERROR(ReadSample(sample));
    FillRow(line_, records.subspan(row, sequence));
    labelled += CountLabels(line_);
    if (++next.index == samples()) next = {.epoch = next.epoch + 1};
  }
  LinkSameTokens(records);
  position_ = next;
  return labelled;
}

absl::Status TokenData::Seek(DataPosition position) {
  if (position.epoch < 0 || position.index < 0 || position.index >= samples()) {
    return absl::InvalidArgumentError(
        StrCat("cannot go on at sample ", position.index, " of epoch ", position.epoch, " of ",
               path_, ": it has ", samples(), " samples; is it the file the run began with?"));
  }
  position_ = position;
  return absl::OkStatus();
}

}  // namespace horizon

#include "runtime/data/sample_cutter.h"

#include <algorithm>

#include "common/status_macros.h"

namespace horizon {
namespace {

// A sample's first token is never trained: nothing stands before it.
int64_t CountTrained(std::span<const int32_t> labels) {
  if (labels.empty()) return 0;
  return std::count_if(labels.begin() + 1, labels.end(), [](int32_t label) { return label >= 0; });
}

}  // namespace

absl::Status SampleCutter::Emit(std::span<const int32_t> ids, std::span<const int32_t> labels) {
  ++statistics_.samples;
  statistics_.tokens += static_cast<int64_t>(ids.size());
  statistics_.trained_tokens += CountTrained(labels);
  return sink_(ids, labels);
}

absl::Status SampleCutter::AddSample(const TokenLine& line) {
  ++statistics_.records;
  statistics_.lengths.Add(static_cast<int64_t>(line.ids.size()));
  const size_t kept = std::min(line.ids.size(), static_cast<size_t>(sequence_));
  const auto labels = std::span(line.labels).first(kept);
  if (CountTrained(labels) == 0) {
    ++statistics_.dropped;
    return absl::OkStatus();
  }
  if (kept < line.ids.size()) ++statistics_.truncated;
  if (line.last_end.has_value()) {
    if (*line.last_end == TokenLine::kNoEnd) ++statistics_.without_end;
    if (*line.last_end >= static_cast<int64_t>(kept)) ++statistics_.cut_before_end;
  }
  return Emit(std::span(line.ids).first(kept), labels);
}

absl::Status SampleCutter::AddToDocument(std::span<const int32_t> ids) {
  document_tokens_ += static_cast<int64_t>(ids.size());
  pending_.insert(pending_.end(), ids.begin(), ids.end());
  const auto sequence = static_cast<size_t>(sequence_);
  size_t begin = 0;
  for (; pending_.size() - begin >= sequence; begin += sequence - 1) {
    const auto piece = std::span<const int32_t>(pending_).subspan(begin, sequence);
    RETURN_IF_ERROR(Emit(piece, piece));
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(begin));
  return absl::OkStatus();
}

absl::Status SampleCutter::EndDocument() {
  ++statistics_.records;
  statistics_.lengths.Add(document_tokens_);
  if (document_tokens_ < 2) ++statistics_.dropped;
  document_tokens_ = 0;
  const std::vector<int32_t> rest = std::exchange(pending_, {});
  return rest.size() >= 2 ? Emit(rest, rest) : absl::OkStatus();
}

}  // namespace horizon

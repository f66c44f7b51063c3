#include "runtime/loop/metrics.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {

std::string MetricsLine(const StepMetrics& metrics) {
  JsonWriter json(JsonWriter::Style::kOneLine);
  json.BeginObject();
  json.Key("step").Integer(metrics.step);
  json.Key("loss").Number(metrics.loss);
  json.Key("gradient_norm").Number(metrics.gradient_norm);
  json.Key("learning_rate").Number(metrics.learning_rate);
  if (metrics.epoch.has_value()) json.Key("epoch").Number(*metrics.epoch);
  json.Key("tokens").Integer(metrics.tokens);
  if (metrics.trained_tokens.has_value()) {
    json.Key("trained_tokens").Integer(*metrics.trained_tokens);
  }
  if (metrics.routing.has_value()) {
    json.Key("router_aux_loss").Number(metrics.routing->aux_loss);
    json.Key("busiest_expert").Number(metrics.routing->busiest);
    json.Key("idlest_expert").Number(metrics.routing->idlest);
  }
  json.Key("step_seconds").Number(metrics.step_time.value);
  json.Key("tokens_per_second").Number(metrics.tokens_per_second());
  json.Key("host_bytes").Unsigned(metrics.host_bytes.value());
  json.Key("device_bytes").Unsigned(metrics.device_bytes.value());
  json.Key("predicted_step_seconds").Number(metrics.predicted_step_time.value);
  if (!metrics.gradient_norms.empty()) {
    json.Key("gradient_norms").BeginObject();
    for (const auto& [tensor, norm] : metrics.gradient_norms) json.Key(tensor).Number(norm);
    json.EndObject();
  }
  json.EndObject();
  return std::move(json).Finish();
}

std::string EvaluationText(const EvaluationLine& line) {
  JsonWriter json(JsonWriter::Style::kOneLine);
  json.BeginObject().Key("step").Integer(line.step).Key("loss").Number(line.loss);
  json.Key("perplexity").Number(line.perplexity).Key("tokens").Integer(line.counted).EndObject();
  return std::move(json).Finish();
}

namespace {

constexpr size_t kPiece = size_t{1} << 20;

// The step of a line, of which the begin is enough; -1: it has none.
int64_t StepOf(std::string_view line) {
  constexpr std::string_view kStart = "{\"step\": ";
  int64_t step = -1;
  // A sign is none of ours, and "-0" would read as 0.
  if (!line.starts_with(kStart) || line.substr(kStart.size()).starts_with('-')) return -1;
  const char* end = line.data() + line.size();
  return std::from_chars(line.data() + kStart.size(), end, step).ec == std::errc() ? step : -1;
}

// The complete lines of a file from its begin on, up to a step.
struct LinesUpTo {
  uint64_t end = 0;       // where the next line, or a part of one, begins
  int64_t last_step = 0;  // of those lines
};

absl::StatusOr<LinesUpTo> FindLinesUpTo(File& file, const std::string& path, int64_t last) {
  constexpr size_t kEnough = 64;  // of a line, to know its step
  std::vector<std::byte> piece(kPiece);
  LinesUpTo found;
  std::string start;
  for (uint64_t offset = 0;;) {
    ASSIGN_OR_RETURN(const size_t count, file.ReadAt(offset, piece));
    if (count == 0) return found;
    for (size_t i = 0; i < count; ++i) {
      const char c = static_cast<char>(piece[i]);
      if (c != '\n') {
        if (start.size() < kEnough) start += c;
        continue;
      }
      const int64_t step = StepOf(start);
      if (step < 0) {
        return absl::DataLossError(StrCat(path, " has a line without a step at byte ", found.end,
                                          "; move the file away to go on"));
      }
      if (step > last) return found;
      found = {.end = offset + i + 1, .last_step = step};
      start.clear();
    }
    offset += count;
  }
}

}  // namespace

absl::StatusOr<int64_t> LastStep(Io& io, const std::string& path) {
  absl::StatusOr<std::unique_ptr<File>> file = io.Open(path, OpenMode::kRead);
  if (absl::IsNotFound(file.status())) return 0;
  RETURN_IF_ERROR(file.status());
  ASSIGN_OR_RETURN(const LinesUpTo lines,
                   FindLinesUpTo(**file, path, std::numeric_limits<int64_t>::max()));
  return lines.last_step;
}

absl::Status CutAfterStep(Io& io, const std::string& path, int64_t last) {
  absl::StatusOr<std::unique_ptr<File>> file = io.Open(path, OpenMode::kRead);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  RETURN_IF_ERROR(file.status());
  ASSIGN_OR_RETURN(const LinesUpTo lines, FindLinesUpTo(**file, path, last));
  const uint64_t keep = lines.end;
  ASSIGN_OR_RETURN(const FileInfo info, (*file)->Info());
  if (keep == info.size.value()) return absl::OkStatus();
  return WriteFileAtomically(io, path, [&](File& shorter) -> absl::Status {
    std::vector<std::byte> piece(kPiece);
    for (uint64_t done = 0; done < keep;) {
      const std::span want = std::span(piece).first(std::min<uint64_t>(kPiece, keep - done));
      ASSIGN_OR_RETURN(const size_t count, (*file)->ReadAt(done, want));
      if (count != want.size()) {
        return absl::DataLossError(StrCat("cannot read ", path, ": it has become shorter"));
      }
      RETURN_IF_ERROR(shorter.WriteAt(done, want));
      done += count;
    }
    return absl::OkStatus();
  });
}

}  // namespace horizon

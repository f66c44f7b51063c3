#include "report/step_lines.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "common/document.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "common/str_cat.h"

namespace horizon {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;
// With the norms of every tensor of a large model a line has some hundred kilobytes.
constexpr DocumentLimits kLineLimits{.text = 4_MiB, .depth = 4, .values = 100'000};
constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();

// The whole lines of a file from `begin` on. A missing file is empty.
absl::StatusOr<std::string> ReadWholeLines(Io& io, const std::string& path, uint64_t begin) {
  const absl::StatusOr<std::unique_ptr<File>> file = io.Open(path, OpenMode::kRead);
  if (absl::IsNotFound(file.status())) return std::string();
  RETURN_IF_ERROR(file.status());
  ASSIGN_OR_RETURN(const FileInfo info, (*file)->Info());
  const uint64_t size = info.size.value();
  if (size < begin) return absl::DataLossError(StrCat(path, " has become shorter"));
  if (size - begin > kMostBytes) {
    return absl::ResourceExhaustedError(StrCat(path, " has ", ToString(info.size),
                                               ", more than the ", BytesText(kMostBytes),
                                               " that are read to be shown"));
  }
  std::string text(size - begin, '\0');
  ASSIGN_OR_RETURN(const size_t count,
                   (*file)->ReadAt(begin, std::as_writable_bytes(std::span(text))));
  text.resize(count);
  text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  return text;
}

// An error of a file's content: the folder is torn.
absl::Status Torn(const absl::Status& status, std::string_view what_to_do) {
  return absl::DataLossError(StrCat(std::string(status.message()), "; ", what_to_do));
}

constexpr std::string_view kWhatToDo =
    "two runs may have written it, or the disk has lost a part: move the file away to see the rest";

enum class Steps { kByOne, kAscending };

template <typename Line, typename Read>
absl::StatusOr<StepLines<Line>> Load(Io& io, const std::string& path, uint64_t begin, int64_t after,
                                     Steps steps, Read read) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeLines(io, path, begin));
  StepLines<Line> result{.end = begin + text.size()};
  int64_t last = after;
  int64_t number = 0;
  for (size_t from = 0; from < text.size();) {
    const size_t end = text.find('\n', from);
    const std::string_view line = std::string_view(text).substr(from, end - from);
    from = end + 1;
    ++number;
    const std::string place = begin == 0 ? StrCat(path, " line ", number) : path;
    absl::StatusOr<Line> parsed = read(place, line);
    if (!parsed.ok()) return Torn(parsed.status(), kWhatToDo);
    if (last >= 0 &&
        (parsed->step <= last || (steps == Steps::kByOne && parsed->step != last + 1))) {
      return Torn(
          absl::DataLossError(StrCat(place, ": step ", parsed->step, " follows step ", last)),
          kWhatToDo);
    }
    last = parsed->step;
    result.lines.push_back(*std::move(parsed));
  }
  return result;
}

void Step(ObjectReader& reader, int64_t& step) {
  reader.Required("step", &step);
  if (reader.ok() && step < 0) reader.Fail("step", "needs a step of zero or more");
}

}  // namespace

absl::StatusOr<StepMetrics> ReadMetricsLine(const std::string& place, std::string_view line) {
  ASSIGN_OR_RETURN(const Document document, ParseJson(place, line, kLineLimits));
  ObjectReader reader(document, document.root);
  StepMetrics metrics{.loss = kNotFinite, .gradient_norm = kNotFinite};
  Step(reader, metrics.step);
  reader.OptionalOrNull("loss", &metrics.loss);
  reader.OptionalOrNull("gradient_norm", &metrics.gradient_norm);
  reader.Required("learning_rate", &metrics.learning_rate);
  reader.Required("tokens", &metrics.tokens);
  reader.Required("step_seconds", &metrics.step_time.value);
  reader.Required("host_bytes", &metrics.host_bytes);
  reader.Required("device_bytes", &metrics.device_bytes);
  reader.Required("predicted_step_seconds", &metrics.predicted_step_time.value);
  reader.Ignore({"tokens_per_second", "gradient_norms"});
  RETURN_IF_ERROR(reader.Finish());
  return metrics;
}

absl::StatusOr<EvaluationLine> ReadEvaluationLine(const std::string& place, std::string_view line) {
  ASSIGN_OR_RETURN(const Document document, ParseJson(place, line, kLineLimits));
  ObjectReader reader(document, document.root);
  EvaluationLine evaluation{.loss = kNotFinite, .perplexity = kNotFinite};
  Step(reader, evaluation.step);
  reader.OptionalOrNull("loss", &evaluation.loss);
  reader.OptionalOrNull("perplexity", &evaluation.perplexity);
  reader.Required("tokens", &evaluation.counted);
  RETURN_IF_ERROR(reader.Finish());
  return evaluation;
}

absl::StatusOr<StepLines<StepMetrics>> LoadMetrics(Io& io, const std::string& path, uint64_t begin,
                                                   int64_t after) {
  return Load<StepMetrics>(io, path, begin, after, Steps::kByOne, ReadMetricsLine);
}

absl::StatusOr<StepLines<EvaluationLine>> LoadEvaluations(Io& io, const std::string& path) {
  return Load<EvaluationLine>(io, path, 0, -1, Steps::kAscending, ReadEvaluationLine);
}

}  // namespace horizon

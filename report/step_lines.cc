#include "report/step_lines.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "report/read_routing_line.h"

namespace horizon {
namespace {

constexpr uint64_t kReadBytes = 1 << 20;
// With the norms of every tensor of a large model a line has some hundred kilobytes.
constexpr DocumentLimits kLineLimits{.text = 4_MiB, .depth = 4, .values = 100'000};
constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();

constexpr std::string_view kWhatToDo =
    "two runs may have written it, or the disk has lost a part: move the file away to see the rest";

// The whole lines of a file from a byte on, as far as it reached when it was opened.
class LineReader {
 public:
  // No file: nothing to read.
  static absl::StatusOr<LineReader> Open(Io& io, const std::string& path, uint64_t begin) {
    absl::StatusOr<std::unique_ptr<File>> file = io.Open(path, OpenMode::kRead);
    if (absl::IsNotFound(file.status())) return LineReader(path, nullptr, begin, begin);
    RETURN_IF_ERROR(file.status());
    ASSIGN_OR_RETURN(const FileInfo info, (*file)->Info());
    const uint64_t size = info.size.value();
    if (size < begin) return absl::DataLossError(StrCat(path, " has become shorter"));
    return LineReader(path, *std::move(file), begin, size);
  }

  // The next line without its end, valid until the next call; false after the last whole one.
  absl::StatusOr<bool> Next(std::string_view& line) {
    while (true) {
      const size_t end = text_.find('\n', at_);
      if (end != std::string::npos) {
        line = std::string_view(text_).substr(at_, end - at_);
        done_ += end + 1 - at_;
        at_ = end + 1;
        return true;
      }
      if (read_ == size_) return false;
      RETURN_IF_ERROR(ReadMore());
    }
  }
  // Where the line behind those that were given begins.
  uint64_t end() const { return done_; }

 private:
  LineReader(std::string path, std::unique_ptr<File> file, uint64_t begin, uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), read_(begin), done_(begin), size_(size) {}

  absl::Status ReadMore() {
    text_.erase(0, at_);
    at_ = 0;
    if (text_.size() > kLineLimits.text.value()) {
      return absl::DataLossError(StrCat(path_, " has a line of more than ",
                                        ToString(kLineLimits.text), " at byte ", done_, "; ",
                                        kWhatToDo));
    }
    const size_t before = text_.size();
    text_.resize(before + std::min<uint64_t>(kReadBytes, size_ - read_));
    ASSIGN_OR_RETURN(
        const size_t count,
        file_->ReadAt(read_, std::as_writable_bytes(std::span(text_).subspan(before))));
    text_.resize(before + count);
    read_ += count;
    if (count == 0) size_ = read_;  // it was cut meanwhile
    return absl::OkStatus();
  }

  std::string path_;
  std::unique_ptr<File> file_;
  std::string text_;  // read, from the line at at_ on not yet given
  size_t at_ = 0;
  uint64_t read_;
  uint64_t done_;
  uint64_t size_;
};

// An error of a file's content: the folder is torn.
absl::Status Torn(const absl::Status& status, std::string_view what_to_do) {
  return absl::DataLossError(StrCat(std::string(status.message()), "; ", what_to_do));
}

// Whether a line may stand behind one of step `last`, and the step that it begins with.
bool Follows(const StepMetrics& line, int64_t last) { return line.step == last + 1; }
bool Follows(const EvaluationLine& line, int64_t last) { return line.step > last; }
bool Follows(const RoutingLine& line, int64_t last) { return line.first_step > last; }
int64_t FirstStepOf(const StepMetrics& line) { return line.step; }
int64_t FirstStepOf(const EvaluationLine& line) { return line.step; }
int64_t FirstStepOf(const RoutingLine& line) { return line.first_step; }

template <typename Line, typename Read>
absl::StatusOr<uint64_t> Visit(Io& io, const std::string& path, uint64_t begin, int64_t after,
                               Read read, const std::function<void(Line)>& take) {
  ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(io, path, begin));
  int64_t last = after;
  int64_t number = 0;
  std::string_view line;
  while (true) {
    ASSIGN_OR_RETURN(const bool found, reader.Next(line));
    if (!found) return reader.end();
    ++number;
    const std::string place = begin == 0 ? StrCat(path, " line ", number) : path;
    absl::StatusOr<Line> parsed = read(place, line);
    if (!parsed.ok()) return Torn(parsed.status(), kWhatToDo);
    if (last >= 0 && !Follows(*parsed, last)) {
      return Torn(absl::DataLossError(
                      StrCat(place, ": step ", FirstStepOf(*parsed), " follows step ", last)),
                  kWhatToDo);
    }
    last = parsed->step;
    take(*std::move(parsed));
  }
}

void Step(ObjectReader& reader, int64_t& step) {
  reader.Required("step", &step);
  if (reader.ok() && step < 0) reader.Fail("step", "needs a step of zero or more");
}

// A key that lines of older versions do not have.
template <typename T>
void IfThere(const Document& document, ObjectReader& reader, std::string_view key,
             std::optional<T>& value) {
  if (document.root.Find(key) != nullptr) reader.Required(key, &value.emplace());
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
  IfThere(document, reader, "epoch", metrics.epoch);
  reader.Required("tokens", &metrics.tokens);
  IfThere(document, reader, "trained_tokens", metrics.trained_tokens);
  if (document.root.Find("router_aux_loss") != nullptr) {
    StepMetrics::Routing& routing = metrics.routing.emplace(
        StepMetrics::Routing{.aux_loss = kNotFinite, .busiest = kNotFinite, .idlest = kNotFinite});
    reader.OptionalOrNull("router_aux_loss", &routing.aux_loss);
    reader.OptionalOrNull("busiest_expert", &routing.busiest);
    reader.OptionalOrNull("idlest_expert", &routing.idlest);
  }
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

absl::StatusOr<uint64_t> VisitMetrics(Io& io, const std::string& path, uint64_t begin,
                                      int64_t after, const std::function<void(StepMetrics)>& take) {
  return Visit<StepMetrics>(io, path, begin, after, ReadMetricsLine, take);
}

absl::StatusOr<uint64_t> VisitEvaluations(Io& io, const std::string& path, uint64_t begin,
                                          int64_t after,
                                          const std::function<void(EvaluationLine)>& take) {
  return Visit<EvaluationLine>(io, path, begin, after, ReadEvaluationLine, take);
}

absl::StatusOr<uint64_t> VisitRouting(Io& io, const std::string& path, uint64_t begin,
                                      int64_t after, const std::function<void(RoutingLine)>& take) {
  return Visit<RoutingLine>(io, path, begin, after, ReadRoutingLine, take);
}

}  // namespace horizon

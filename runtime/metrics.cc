#include "runtime/metrics.h"

#include <array>
#include <cstddef>
#include <span>

#include "common/json.h"
#include "common/status_macros.h"

namespace horizon {

std::string MetricsLine(const StepMetrics& metrics) {
  JsonWriter json(JsonWriter::Style::kOneLine);
  json.BeginObject();
  json.Key("step").Integer(metrics.step);
  json.Key("loss").Number(metrics.loss);
  json.Key("gradient_norm").Number(metrics.gradient_norm);
  json.Key("learning_rate").Number(metrics.learning_rate);
  json.Key("tokens").Integer(metrics.tokens);
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

absl::StatusOr<MetricsWriter> MetricsWriter::Open(Io& io, std::string path) {
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, io.Open(path, OpenMode::kAppend));
  return MetricsWriter(io, std::move(path), std::move(file));
}

absl::StatusOr<bool> MetricsWriter::EndsInsideALine() {
  // A file opened to append cannot be read.
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, io_->Open(path_, OpenMode::kRead));
  ASSIGN_OR_RETURN(const FileInfo info, file->Info());
  const uint64_t size = info.size.value();
  std::array<std::byte, 1> last = {std::byte{'\n'}};
  if (size > 0) {
    ASSIGN_OR_RETURN(const size_t count, file->ReadAt(size - 1, last));
    if (count == 0) return absl::DataLossError("cannot read " + path_ + ": it has become shorter");
  }
  return last[0] != std::byte{'\n'};
}

absl::Status MetricsWriter::Append(const StepMetrics& metrics) {
  std::string line = MetricsLine(metrics) + "\n";
  if (!end_is_known_) {
    ASSIGN_OR_RETURN(const bool inside, EndsInsideALine());
    if (inside) line.insert(line.begin(), '\n');
  }
  end_is_known_ = false;
  RETURN_IF_ERROR(file_->WriteAt(0, std::as_bytes(std::span(line))));
  end_is_known_ = true;
  return absl::OkStatus();
}

absl::Status MetricsWriter::Close() {
  const absl::Status synced = file_->Sync();
  const absl::Status closed = file_->Close();
  return synced.ok() ? closed : synced;
}

}  // namespace horizon

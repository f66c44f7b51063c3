// Whatever the bytes, a job is read or refused; one that is read survives being written and read
// again, and validating it answers.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/check.h"
#include "common/documents/json.h"
#include "common/documents/yaml.h"
#include "schedule/training_job.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

void TryDocument(const absl::StatusOr<Document>& document) {
  if (!document.ok()) {
    CHECK(document.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  const absl::StatusOr<TrainingJob> job = ReadJob(*document);
  if (!job.ok()) {
    CHECK(job.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  CHECK(job->version == 1);
  const std::string text = WriteJob(*job);
  const absl::StatusOr<Document> written = ParseJson("written.json", text);
  CHECK(written.ok());
  const absl::StatusOr<TrainingJob> again = ReadJob(*written);
  CHECK(again.ok() && WriteJob(*again) == text);
  ModelSpec spec;
  spec.hidden = 64;
  spec.max_positions = INT64_MAX;
  const absl::Status valid = ValidateJob(spec, *job);
  CHECK(valid.ok() || valid.code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  horizon::TryDocument(horizon::ParseJson("fuzz.json", text));
  horizon::TryDocument(horizon::ParseYaml("fuzz.yaml", text));
  return 0;
}

// Whatever the bytes, a plan is read or refused; one that is read survives being written and read
// again, and validating it answers.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/check.h"
#include "common/documents/json.h"
#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

void TryPlan(std::string_view text) {
  const absl::StatusOr<Document> document = ParseJson("fuzz.json", text);
  if (!document.ok()) {
    CHECK(document.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  const absl::StatusOr<StreamPlan> plan = ReadPlan(*document);
  if (!plan.ok()) {
    CHECK(plan.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  CHECK(plan->version == 1 && plan->buffer_depth >= 1 && plan->chunk_bytes.ok());
  const std::string written_text = WritePlan(*plan);
  const absl::StatusOr<Document> written = ParseJson("written.json", written_text);
  CHECK(written.ok());
  const absl::StatusOr<StreamPlan> again = ReadPlan(*written);
  CHECK(again.ok() && WritePlan(*again) == written_text);
  const absl::Status valid = ValidatePlan({}, {}, *plan);
  CHECK(valid.ok() || valid.code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryPlan({reinterpret_cast<const char*>(data), size});
  return 0;
}

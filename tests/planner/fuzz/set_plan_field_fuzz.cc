// Whatever the assignments, one a line, each is made or refused by name; and a plan stays one that
// can be written and read.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/documents/json.h"
#include "planner/set_plan_field.h"
#include "schedule/stream_plan.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

void TryAssignments(std::string_view text) {
  StreamPlan plan;
  std::vector<std::string> fields;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    const std::string before = WritePlan(plan);
    const size_t count = fields.size();
    const absl::Status status = SetPlanField({line.data(), line.size()}, plan, fields);
    if (!status.ok()) {
      CHECK(absl::IsInvalidArgument(status));
      CHECK(status.message().find("--set") == 0);
      CHECK(WritePlan(plan) == before && fields.size() == count);
      continue;
    }
    CHECK(fields.size() == count + 1);
    const std::string after = WritePlan(plan);
    const absl::StatusOr<Document> document = ParseJson("written.json", after);
    CHECK(document.ok());
    const absl::StatusOr<StreamPlan> again = ReadPlan(*document);
    CHECK(again.ok() && WritePlan(*again) == after);
  }
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryAssignments({reinterpret_cast<const char*>(data), size});
  return 0;
}

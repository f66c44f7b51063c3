// Whatever the bytes, timelines are read or refused; what is read has one of everything for each
// operation, never runs backwards, and survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/check.h"
#include "report/step_timelines.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

void TryTimelines(std::string_view text) {
  const absl::StatusOr<StepTimelines> read = ReadTimelines("fuzz.json", text);
  if (!read.ok()) {
    CHECK(read.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  const auto operations = static_cast<size_t>(read->operations());
  CHECK(read->predicted.end_ns.size() == operations && read->awaited.size() == operations);
  CHECK(read->measured.start_ns.size() == (read->step > 0 ? operations : 0));
  CHECK(read->mean_ns.size() == read->measured.start_ns.size());
  for (size_t i = 0; i < operations; ++i) {
    CHECK(read->predicted.start_ns[i] <= read->predicted.end_ns[i]);
    CHECK(read->awaited[i].operation >= -1 && read->awaited[i].operation < read->operations());
  }
  const absl::StatusOr<StepTimelines> again = ReadTimelines("again.json", WriteTimelines(*read));
  CHECK(again.ok() && *again == *read);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryTimelines({reinterpret_cast<const char*>(data), size});
  return 0;
}

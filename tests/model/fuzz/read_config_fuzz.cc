// Whatever the bytes, ReadConfig answers; and a spec it accepts is valid: its stages can be listed
// and add up, and its report is JSON.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/check.h"
#include "common/documents/json.h"
#include "model/model_report.h"
#include "model/read_config.h"
#include "model/stages.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

// Listing stages is linear in what a valid spec may hold; a small part of that is enough here.
bool IsSmall(const ModelSpec& spec) {
  return spec.layer_count() <= 100 && spec.experts.experts <= 64;
}

void TryConfig(std::string_view text) {
  const absl::StatusOr<Document> document = ParseJson("config.json", text);
  if (!document.ok()) return;
  const absl::StatusOr<ModelConfig> config = ReadConfig(*document, "fuzz");
  if (!config.ok()) {
    CHECK(config.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(config.status().message().find("config.json:") == 0);
    return;
  }
  CHECK(ValidateSpec(config->spec).ok());
  if (!IsSmall(config->spec)) return;
  const std::vector<Stage> stages = ListStages(config->spec);
  CHECK(stages.size() == 2 * config->spec.layers.size() + 3);
  for (const Stage& stage : stages) {
    const int64_t middle = stage.units / 2;
    CHECK(ParametersInUnits(stage, {0, middle}) + ParametersInUnits(stage, {middle, stage.units}) ==
          stage.parameters);
  }
  CHECK(CountParameters(stages).total < uint64_t{1} << 62);
  CHECK(ParseJson("report", ModelReportJson(config->spec, {.batch = 3, .sequence = 7})).ok());
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryConfig({reinterpret_cast<const char*>(data), size});
  return 0;
}

// Whatever stands in a metrics.jsonl, it is cut where a plain reading of the rule cuts it, or
// refused and left as it is.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/check.h"
#include "runtime/loop/metrics.h"
#include "tests/common/files/memory_io.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

constexpr char kPath[] = "/metrics.jsonl";

// The step of a line as CutAfterStep's declaration has it; nothing where the line has none.
std::optional<int64_t> StepOf(std::string_view line) {
  constexpr std::string_view kBegin = "{\"step\": ";
  if (line.substr(0, kBegin.size()) != kBegin) return std::nullopt;
  // No more of a line is looked at; that matters for zeros before a number only.
  std::string_view digits = line.substr(0, 64).substr(kBegin.size());
  digits = digits.substr(0, digits.find_first_not_of("0123456789"));
  if (digits.empty()) return std::nullopt;
  int64_t step = 0;
  for (const char digit : digits) {
    if (__builtin_mul_overflow(step, int64_t{10}, &step) ||
        __builtin_add_overflow(step, int64_t{digit - '0'}, &step)) {
      return std::nullopt;
    }
  }
  return step;
}

// What is left; nothing where the file is refused.
std::optional<std::string_view> Expected(std::string_view text, int64_t last) {
  size_t keep = 0;
  while (true) {
    const size_t end = text.find('\n', keep);
    if (end == std::string_view::npos) return text.substr(0, keep);
    const std::optional<int64_t> step = StepOf(text.substr(keep, end - keep));
    if (!step.has_value()) return std::nullopt;
    if (*step > last) return text.substr(0, keep);
    keep = end + 1;
  }
}

void TryCut(std::string_view text, int64_t last) {
  MemoryTree tree;
  tree.files[1] = text;
  tree.folders[0] = {{"metrics.jsonl", 1}};
  MemoryIo io(std::move(tree));
  const absl::Status status = CutAfterStep(io, kPath, last);
  const std::optional<std::string_view> expected = Expected(text, last);
  CHECK(status.ok() == expected.has_value());
  CHECK(status.ok() || absl::IsDataLoss(status));
  CHECK(status.ok() || status.message().find(kPath) == 0);
  const absl::StatusOr<std::string> left = ReadTextFile(io, kPath);
  CHECK(left.ok() && *left == expected.value_or(text));
  const absl::StatusOr<std::vector<std::string>> names = io.List("/");
  CHECK(names.ok() && names->size() == 1);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The first byte is the step to cut after.
  horizon::TryCut({reinterpret_cast<const char*>(data) + 1, size - 1}, data[0]);
  return 0;
}

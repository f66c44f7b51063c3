// Whatever the template, it is refused with its line or rendered within its limits, and every byte
// of what it gives has an origin.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/check.h"
#include "model/chat/jinja/jinja_template.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

constexpr JinjaLimits kLimits = {.steps = 5'000, .depth = 100, .output = 64_KiB};

JinjaVariables Variables() {
  const auto message = [](std::string_view role, std::string_view content, int32_t number) {
    return JinjaValue::Message(
        {{JinjaValue::Template("role"), JinjaValue::Quoted(role, number)},
         {JinjaValue::Template("content"), JinjaValue::Quoted(content, number)}},
        number);
  };
  return {{"messages",
           JinjaValue::List({message("user", " H\xC3\xA9 ", 0), message("bot", "Yo\n", 1)})},
          {"n", JinjaValue::Integer(7)},
          {"x", JinjaValue::Quoted("a<b>'\xE4\xBD\xA0", -1)}};
}

void TryTemplate(std::string_view source) {
  const absl::StatusOr<JinjaTemplate> parsed = JinjaTemplate::Parse(source, "fuzz");
  if (!parsed.ok()) {
    CHECK(absl::IsInvalidArgument(parsed.status()));
    CHECK(parsed.status().message().substr(0, 5) == "fuzz:");
    return;
  }
  const absl::StatusOr<TracedText> text = parsed->Render(Variables(), {.limits = kLimits});
  if (!text.ok()) {
    CHECK(absl::IsInvalidArgument(text.status()) || absl::IsResourceExhausted(text.status()));
    CHECK(text.status().message().substr(0, 5) == "fuzz:");
    return;
  }
  CHECK(text->size() <= kLimits.output.value());
  size_t end = 0;
  for (const TextRun& run : text->runs()) {
    CHECK(run.end > end);
    end = run.end;
  }
  CHECK(end == text->size());
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryTemplate({reinterpret_cast<const char*>(data), size});
  return 0;
}

// Whatever a model answers, its last number is one or there is none.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "app/answers/answer_match.h"
#include "common/check.h"
#include "tests/common/fuzz/fuzz_driver.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::optional<double> number = horizon::LastNumber(text);
  CHECK(number.has_value() == (text.find_first_of("0123456789") != std::string_view::npos));
  CHECK(!number.has_value() || !std::isnan(*number));
  CHECK(horizon::SameText(text, text));
  return 0;
}

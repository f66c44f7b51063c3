// Whatever the text, it is a quantity within its bounds or refused; and a quantity is printed as
// itself, to three digits.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/check.h"
#include "common/units.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

double NumberOf(Bytes bytes) { return static_cast<double>(bytes.value()); }
template <typename T>
double NumberOf(T quantity) {
  return quantity.value;
}

// `least` is the smallest unit it is printed in.
template <typename T>
void TryQuantity(absl::StatusOr<T> (*parse)(std::string_view), double least,
                 std::string_view text) {
  const absl::StatusOr<T> quantity = parse(text);
  if (!quantity.ok()) {
    CHECK(absl::IsInvalidArgument(quantity.status()));
    return;
  }
  const double number = NumberOf(*quantity);
  CHECK(std::isfinite(number) && number >= 0);
  const std::string printed = ToString(*quantity);
  const absl::StatusOr<T> again = parse(printed);
  // Rounding may lead past a bound: 2^63 - 1 bytes are printed as 8.00 EiB, which are too many; and
  // less than one of the smallest unit has two decimals.
  if (!again.ok() || number < least) return;
  CHECK(std::abs(NumberOf(*again) - number) <= 0.006 * number);
}

void TryText(std::string_view text) {
  TryQuantity<Bytes>(ParseBytes, 1, text);
  TryQuantity<BytesPerSecond>(ParseBytesPerSecond, 1, text);
  TryQuantity<FlopsPerSecond>(ParseFlopsPerSecond, 1, text);
  TryQuantity<Seconds>(ParseSeconds, 1e-9, text);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryText({reinterpret_cast<const char*>(data), size});
  return 0;
}

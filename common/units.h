#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/checked.h"

namespace horizon {

// Quantities with their unit in the type, so that a rate is never passed where a size is meant.
// Each parses what people write and prints what people read. Binary (KiB, MiB, ...) and decimal
// (kB, MB, ...) prefixes are both understood and kept apart.

// A number of bytes in memory, on a link or on disk: `Bytes size = 4_B * values`. Arithmetic is
// checked: a result that does not fit is an overflow (see CheckedU64). To scale a size by a real
// number, convert it first (static_cast<double>(bytes)); to take a difference that may be negative,
// subtract the value()s.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(CheckedU64 count) : count_(count) {}

  constexpr CheckedU64 count() const { return count_; }
  constexpr uint64_t value() const { return count_.value(); }
  constexpr bool ok() const { return count_.ok(); }
  // The nearest real number, for rates, shares and charts.
  constexpr explicit operator double() const { return static_cast<double>(value()); }
  constexpr Bytes RoundedUp(uint64_t unit) const { return Bytes(count_.RoundedUp(unit)); }

  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, CheckedU64 times) { return Bytes(a.count_ * times); }
  friend constexpr Bytes operator*(CheckedU64 times, Bytes a) { return a * times; }
  // The quotient, rounded down.
  friend constexpr Bytes operator/(Bytes a, CheckedU64 parts) { return Bytes(a.count_ / parts); }
  // How many times `b` fits into `a`, rounded down.
  friend constexpr CheckedU64 operator/(Bytes a, Bytes b) { return a.count_ / b.count_; }
  // Deleted, since a real number would silently be cut to an integer.
  friend Bytes operator*(Bytes, std::floating_point auto) = delete;
  friend Bytes operator*(std::floating_point auto, Bytes) = delete;
  friend Bytes operator/(Bytes, std::floating_point auto) = delete;
  constexpr Bytes& operator+=(Bytes other) { return *this = *this + other; }
  constexpr Bytes& operator-=(Bytes other) { return *this = *this - other; }
  constexpr Bytes& operator*=(CheckedU64 times) { return *this = *this * times; }
  friend constexpr bool operator==(Bytes, Bytes) = default;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;

 private:
  CheckedU64 count_;
};

constexpr Bytes operator""_B(unsigned long long count) { return Bytes(CheckedU64(count)); }
constexpr Bytes operator""_KiB(unsigned long long count) { return Bytes(CheckedU64(count) * 1024); }
constexpr Bytes operator""_MiB(unsigned long long count) {
  return Bytes(CheckedU64(count) * (uint64_t{1} << 20));
}
constexpr Bytes operator""_GiB(unsigned long long count) {
  return Bytes(CheckedU64(count) * (uint64_t{1} << 30));
}

// The three quantities that are real numbers.
struct Seconds {
  double value = 0;
  friend constexpr auto operator<=>(Seconds, Seconds) = default;
};
struct BytesPerSecond {
  double value = 0;
  friend constexpr auto operator<=>(BytesPerSecond, BytesPerSecond) = default;
};
struct FlopsPerSecond {
  double value = 0;
  friend constexpr auto operator<=>(FlopsPerSecond, FlopsPerSecond) = default;
};

// Parses a size: "1.5 TiB", "768GiB", "64 MB", "512 B". A fraction is rounded to the nearest byte.
// InvalidArgument for a number without a unit, signs, unknown units, more than 18 decimals and
// sizes of 2^63 bytes or more.
absl::StatusOr<Bytes> ParseBytes(std::string_view text);
// Parses a bandwidth: "26 GB/s", "64GiB/s". It must be finite and above zero.
absl::StatusOr<BytesPerSecond> ParseBytesPerSecond(std::string_view text);
// Parses a compute rate: "989 TFLOPS", "1.2 PFLOPS", "30 GFLOP/s". It must be finite and above
// zero.
absl::StatusOr<FlopsPerSecond> ParseFlopsPerSecond(std::string_view text);
// Parses a duration: "5 s", "250 ms", "3 min", "2 h"; a bare number is seconds. It must be finite
// and not negative.
absl::StatusOr<Seconds> ParseSeconds(std::string_view text);

// Text for people. If two decimals are enough to express the value exactly, the text has no
// trailing zeros ("1.5 TiB", "512 MiB", "26 GB/s", "250 ms") and parses back to the same value.
// Otherwise the value is rounded to three digits and trailing zeros are kept: "1.50 TiB",
// "26.0 GB/s". ToString(Bytes) of an overflow is "overflow".
std::string ToString(Bytes bytes);
std::string ToString(Seconds seconds);
std::string ToString(BytesPerSecond rate);
std::string ToString(FlopsPerSecond rate);

// Writes the exact number of bytes, "1536 B", for messages of tests.
std::ostream& operator<<(std::ostream& out, Bytes bytes);

// A number of floating-point operations, with two decimals, rounded down: "360.80 GFLOP",
// "12 FLOP", "overflow".
std::string FlopsText(CheckedU64 flops);

// ToString(Bytes) for a count without its type.
std::string BytesText(CheckedU64 count);

// Groups digits by thousands: 7615616512 -> "7,615,616,512".
std::string WithCommas(uint64_t number);
// A number with enough digits to compare, not more: "1,234", "12.3" or "0.0123".
std::string ShortNumber(double value);

}  // namespace horizon

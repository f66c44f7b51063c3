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
// Each parses what people write and prints what people read; binary (KiB, MiB, ...) and decimal
// (kB, MB, ...) prefixes are both understood and never confused.

// A size in memory, on a link or on disk, or of one item (4_B a value * values). Arithmetic is
// checked: see CheckedU64. A size that is scaled by a real number leaves the type first
// (static_cast<double>(bytes)), and a difference that may be negative is taken of value().
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(CheckedU64 count) : count_(count) {}

  constexpr CheckedU64 count() const { return count_; }
  constexpr uint64_t value() const { return count_.value(); }
  constexpr bool ok() const { return count_.ok(); }
  // For rates, shares and pictures: the nearest real number.
  constexpr explicit operator double() const { return static_cast<double>(value()); }
  constexpr Bytes RoundedUp(uint64_t unit) const { return Bytes(count_.RoundedUp(unit)); }

  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, CheckedU64 times) { return Bytes(a.count_ * times); }
  friend constexpr Bytes operator*(CheckedU64 times, Bytes a) { return a * times; }
  // Rounded down.
  friend constexpr Bytes operator/(Bytes a, CheckedU64 parts) { return Bytes(a.count_ / parts); }
  // How often `b` fits into `a`, rounded down.
  friend constexpr CheckedU64 operator/(Bytes a, Bytes b) { return a.count_ / b.count_; }
  // A real number would be cut to a whole one unseen.
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

// The three quantities that are real numbers. Dividing a size or work by a rate gives a time.
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

// "1.5 TiB", "768GiB", "64 MB", "512" (bytes). A fraction must come out as a whole number of bytes
// after rounding to nearest; signs, unknown units and sizes of 2^63 bytes or more are refused.
absl::StatusOr<Bytes> ParseBytes(std::string_view text);
// "26 GB/s", "64GiB/s". Finite and above zero.
absl::StatusOr<BytesPerSecond> ParseBytesPerSecond(std::string_view text);
// "989 TFLOPS", "1.2 PFLOPS", "30 GFLOP/s". Finite and above zero.
absl::StatusOr<FlopsPerSecond> ParseFlopsPerSecond(std::string_view text);
// "5 s", "250 ms", "3 min", "2 h". Finite and not negative; a bare number is seconds.
absl::StatusOr<Seconds> ParseSeconds(std::string_view text);

// Exact and without trailing zeros where two decimals say the value to the bit ("1.5 TiB",
// "512 MiB", "26 GB/s", "250 ms"), and such a text parses back to the same value. Otherwise rounded
// to three digits, zeros kept: "1.50 TiB", "26.0 GB/s". ToString(Bytes) of an overflow is
// "overflow".
std::string ToString(Bytes bytes);
std::string ToString(Seconds seconds);
std::string ToString(BytesPerSecond rate);
std::string ToString(FlopsPerSecond rate);

// "1536 B", to the byte: for messages of tests.
std::ostream& operator<<(std::ostream& out, Bytes bytes);

// An amount of work, with two decimals, rounded down: "360.80 GFLOP", "12 FLOP", "overflow".
std::string FlopsText(CheckedU64 flops);

// ToString(Bytes) of a plain count.
std::string BytesText(CheckedU64 count);

// 7615616512 -> "7,615,616,512".
std::string WithCommas(uint64_t number);
// "1,234", "12.3" or "0.0123": enough digits to compare, not more.
std::string ShortNumber(double value);

}  // namespace horizon

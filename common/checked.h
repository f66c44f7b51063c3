#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace horizon {

// An unsigned count that cannot wrap. A result that does not fit (or a difference below zero)
// becomes `overflowed`, which every later sum or product keeps, so a long computation is checked
// once, at its end. Loaders, planner and allocators use it for every size that comes from outside.
class CheckedU64 {
 public:
  constexpr CheckedU64() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a plain count is a checked count.
  constexpr CheckedU64(uint64_t value) : value_(value) {}

  static constexpr CheckedU64 Overflowed() { return CheckedU64(kOverflowed); }
  // Converts a signed count, such as one read from a file. A negative count is overflowed.
  static constexpr CheckedU64 FromSigned(int64_t value) {
    return value < 0 ? Overflowed() : CheckedU64(static_cast<uint64_t>(value));
  }

  constexpr bool ok() const { return value_ != kOverflowed; }
  // The count, or all ones when overflowed, so callers ask ok() first.
  constexpr uint64_t value() const { return value_; }

  // The count rounded up to the next multiple of `unit`; overflowed where `unit` is zero.
  constexpr CheckedU64 RoundedUp(uint64_t unit) const {
    if (!ok() || unit == 0) return Overflowed();
    const uint64_t rest = value_ % unit;
    return rest == 0 ? *this : *this + CheckedU64(unit - rest);
  }

  friend constexpr CheckedU64 operator+(CheckedU64 a, CheckedU64 b) {
    uint64_t sum = 0;
    if (!a.ok() || !b.ok() || __builtin_add_overflow(a.value_, b.value_, &sum)) return Overflowed();
    return CheckedU64(sum);
  }
  friend constexpr CheckedU64 operator-(CheckedU64 a, CheckedU64 b) {
    if (!a.ok() || !b.ok() || b.value_ > a.value_) return Overflowed();
    return CheckedU64(a.value_ - b.value_);
  }
  friend constexpr CheckedU64 operator*(CheckedU64 a, CheckedU64 b) {
    uint64_t product = 0;
    if (!a.ok() || !b.ok() || __builtin_mul_overflow(a.value_, b.value_, &product)) {
      return Overflowed();
    }
    return CheckedU64(product);
  }
  // The quotient, rounded down; overflowed where `b` is zero.
  friend constexpr CheckedU64 operator/(CheckedU64 a, CheckedU64 b) {
    if (!a.ok() || !b.ok() || b.value_ == 0) return Overflowed();
    return CheckedU64(a.value_ / b.value_);
  }
  constexpr CheckedU64& operator+=(CheckedU64 other) { return *this = *this + other; }
  constexpr CheckedU64& operator*=(CheckedU64 other) { return *this = *this * other; }
  friend constexpr bool operator==(CheckedU64, CheckedU64) = default;
  friend constexpr auto operator<=>(CheckedU64, CheckedU64) = default;

 private:
  static constexpr uint64_t kOverflowed = std::numeric_limits<uint64_t>::max();
  uint64_t value_ = 0;
};

}  // namespace horizon

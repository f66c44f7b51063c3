#pragma once

#include <cstddef>
#include <cstdint>

#include "common/check.h"

namespace horizon {

// The number format of an array. Activations and weights are fp32 on the host device and bf16 (the
// high half of an fp32) on a CUDA device. Arithmetic is fp32 either way.
enum class ValueType : uint8_t { kFp32, kBf16 };

// Bytes of one number.
constexpr int64_t BytesOf(ValueType type) { return type == ValueType::kFp32 ? 4 : 2; }

// A pointer to the first number of an array, together with the number format. It owns nothing and
// does not know the length. It converts from a float* or a uint16_t* (bf16), and back to a float*:
//   Values x = floats;           // float* floats
//   float* first = x;            // as x.fp32()
//   uint16_t* halves = y.bf16();
// So a kernel that supports fp32 only is written as if it had received a float*. Asking for the
// wrong format fails a CHECK: that is our bug, never a user's, because the schedule decides
// formats.
//
// Byte, Float and Bf16 are void, float and uint16_t, all of them const or none: use Values and
// ConstValues below.
template <typename Byte, typename Float, typename Bf16>
class BasicValues {
 public:
  constexpr BasicValues() = default;
  constexpr BasicValues(std::nullptr_t) {}
  constexpr BasicValues(Float* data) : data_(data) {}
  constexpr BasicValues(Bf16* data) : data_(data), type_(ValueType::kBf16) {}
  constexpr BasicValues(Byte* data, ValueType type) : data_(data), type_(type) {}
  // Values convert to ConstValues.
  template <typename B, typename F, typename H>
  constexpr BasicValues(const BasicValues<B, F, H>& other)
      : data_(other.data()), type_(other.type()) {}

  constexpr Byte* data() const { return data_; }
  constexpr ValueType type() const { return type_; }
  constexpr operator Float*() const { return fp32(); }

  Float* fp32() const {
    CHECK(data_ == nullptr || type_ == ValueType::kFp32);
    return static_cast<Float*>(data_);
  }
  Bf16* bf16() const {
    CHECK(data_ == nullptr || type_ == ValueType::kBf16);
    return static_cast<Bf16*>(data_);
  }
  // The array from element number `elements` on; null stays null.
  BasicValues From(int64_t elements) const {
    if (data_ == nullptr) return *this;
    if (type_ == ValueType::kFp32) return {static_cast<Float*>(data_) + elements};
    return {static_cast<Bf16*>(data_) + elements};
  }

  friend constexpr bool operator==(const BasicValues& values, std::nullptr_t) {
    return values.data_ == nullptr;
  }

 private:
  Byte* data_ = nullptr;
  ValueType type_ = ValueType::kFp32;
};

using Values = BasicValues<void, float, uint16_t>;
using ConstValues = BasicValues<const void, const float, const uint16_t>;

}  // namespace horizon

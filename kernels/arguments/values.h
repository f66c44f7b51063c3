#pragma once

#include <cstddef>
#include <cstdint>

#include "common/check.h"

namespace horizon {

// How the numbers of an array are kept: activations and weights are fp32 on the host device and
// bf16 (the high half of an fp32) on a CUDA device. Arithmetic is fp32 either way.
enum class ValueType : uint8_t { kFp32, kBf16 };

constexpr int64_t BytesOf(ValueType type) { return type == ValueType::kFp32 ? 4 : 2; }

// The begin of an array of numbers, with the type they are kept in. Owns nothing, knows no length.
// It is made from a pointer and turns back into one by itself, so a body that knows fp32 only is
// written as if it had got a float*; a type it does not know ends the program (our bug, never a
// user's: the schedule decides types). Byte, for const and for other memory.
template <typename Byte, typename Float, typename Bf16>
class BasicValues {
 public:
  constexpr BasicValues() = default;
  constexpr BasicValues(std::nullptr_t) {}
  constexpr BasicValues(Float* data) : data_(data) {}
  constexpr BasicValues(Bf16* data) : data_(data), type_(ValueType::kBf16) {}
  constexpr BasicValues(Byte* data, ValueType type) : data_(data), type_(type) {}
  // What may be written may be read.
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
  // The array from its element number `elements` on; null stays null.
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

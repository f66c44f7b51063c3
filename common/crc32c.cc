#include "common/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace horizon {
namespace {

static_assert(std::endian::native == std::endian::little);

// The polynomial with its bits in reverse: bit 31 is x^0, bit 0 is x^31.
constexpr uint32_t kPolynomial = 0x82F63B78;
constexpr uint32_t kOne = 0x80000000;  // x^0

// a * b modulo the polynomial.
constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b & 1) != 0 ? (b >> 1) ^ kPolynomial : b >> 1;
  }
  return product;
}

// x^(2^i) for i = 0 .. 66: one factor for each bit of a length in bits.
constexpr int kPowers = 67;
constexpr std::array<uint32_t, kPowers> MakePowers() {
  std::array<uint32_t, kPowers> powers{};
  powers[0] = kOne >> 1;
  for (int i = 1; i < kPowers; ++i) powers[i] = Multiply(powers[i - 1], powers[i - 1]);
  return powers;
}
constexpr std::array<uint32_t, kPowers> kPowersOfX = MakePowers();

// x^(8 * bytes): what a value is multiplied by when that many zero bytes follow.
constexpr uint32_t FactorOfBytes(uint64_t bytes) {
  uint32_t factor = kOne;
  for (int i = 3; bytes != 0; ++i, bytes >>= 1) {
    if ((bytes & 1) != 0) factor = Multiply(kPowersOfX[i], factor);
  }
  return factor;
}

// Entry [k][b]: byte b followed by k zero bytes, so that eight bytes are taken with eight look-ups
// ("slicing by 8": Kounavis and Berry, ISCC 2005).
using SliceTable = std::array<std::array<uint32_t, 256>, 8>;
constexpr SliceTable MakeSlices() {
  SliceTable table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ kPolynomial : crc >> 1;
    table[0][byte] = crc;
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (size_t k = 1; k < table.size(); ++k) {
      const uint32_t crc = table[k - 1][byte];
      table[k][byte] = (crc >> 8) ^ table[0][crc & 0xFF];
    }
  }
  return table;
}
constexpr SliceTable kSlices = MakeSlices();

uint64_t Load64(const std::byte* from) {
  uint64_t value = 0;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

#if defined(__x86_64__)
// The instruction takes three cycles but can start every cycle, so three stretches of this many
// bytes are summed side by side and put together after.
constexpr size_t kStretch = 2048;

// Multiplying by one fixed factor, by look-up of the value's four bytes.
using FactorTable = std::array<std::array<uint32_t, 256>, 4>;
constexpr FactorTable MakeFactorTable(uint32_t factor) {
  FactorTable table{};
  for (uint32_t k = 0; k < 4; ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      table[k][byte] = Multiply(byte << (8 * k), factor);
    }
  }
  return table;
}
constexpr FactorTable kAfterStretch = MakeFactorTable(FactorOfBytes(kStretch));

uint32_t ShiftStretch(uint32_t crc) {
  return kAfterStretch[0][crc & 0xFF] ^ kAfterStretch[1][crc >> 8 & 0xFF] ^
         kAfterStretch[2][crc >> 16 & 0xFF] ^ kAfterStretch[3][crc >> 24];
}

// `crc` and the result without the final inversion.
__attribute__((target("sse4.2"))) uint32_t UpdateSse42(uint32_t crc, const std::byte* from,
                                                       size_t count) {
  while (count >= 3 * kStretch) {
    uint64_t first = crc;
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kStretch; i += 8) {
      first = _mm_crc32_u64(first, Load64(from + i));
      second = _mm_crc32_u64(second, Load64(from + kStretch + i));
      third = _mm_crc32_u64(third, Load64(from + 2 * kStretch + i));
    }
    const uint32_t both =
        ShiftStretch(static_cast<uint32_t>(first)) ^ static_cast<uint32_t>(second);
    crc = ShiftStretch(both) ^ static_cast<uint32_t>(third);
    from += 3 * kStretch;
    count -= 3 * kStretch;
  }
  uint64_t wide = crc;
  for (; count >= 8; from += 8, count -= 8) wide = _mm_crc32_u64(wide, Load64(from));
  crc = static_cast<uint32_t>(wide);
  for (; count > 0; ++from, --count) crc = _mm_crc32_u8(crc, static_cast<uint8_t>(*from));
  return crc;
}
#endif

}  // namespace

uint32_t Crc32cPortable(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t crc = ~before;
  const std::byte* from = bytes.data();
  size_t count = bytes.size();
  for (; count >= 8; from += 8, count -= 8) {
    const uint64_t next = Load64(from) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kSlices[7 - k][next >> (8 * k) & 0xFF];
  }
  for (; count > 0; ++from, --count) {
    crc = (crc >> 8) ^ kSlices[0][(crc ^ static_cast<uint32_t>(*from)) & 0xFF];
  }
  return ~crc;
}

uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t before) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0) {
    return ~UpdateSse42(~before, bytes.data(), bytes.size());
  }
#endif
  return Crc32cPortable(bytes, before);
}

uint32_t Crc32cCombine(uint32_t first, uint32_t second, uint64_t second_bytes) {
  return Multiply(FactorOfBytes(second_bytes), first) ^ second;
}

std::string Crc32cText(uint32_t crc) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 28; shift >= 0; shift -= 4) text.push_back(kDigits[crc >> shift & 0xF]);
  return text;
}

}  // namespace horizon

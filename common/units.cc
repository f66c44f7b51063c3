#include "common/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <span>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

__extension__ using Uint128 = unsigned __int128;

struct ByteUnit {
  std::string_view name;
  uint64_t size = 1;
};
// The decimal ones come last: printing uses the first kBinaryUnits.
constexpr std::array<ByteUnit, 12> kByteUnits = {{
    {"B", 1},
    {"KiB", uint64_t{1} << 10},
    {"MiB", uint64_t{1} << 20},
    {"GiB", uint64_t{1} << 30},
    {"TiB", uint64_t{1} << 40},
    {"PiB", uint64_t{1} << 50},
    {"kB", 1'000},
    {"KB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
    {"PB", 1'000'000'000'000'000},
}};
constexpr size_t kBinaryUnits = 6;

// `times` / `per` base units, one of the two being 1: dividing by 1e9 is exact where multiplying by
// 1e-9 is not.
struct RealUnit {
  std::string_view name;
  double times = 1;
  double per = 1;
};
// Growing, so that printing takes the last one not above the value.
constexpr std::array<RealUnit, 6> kSizeUnits = {
    {{"B"}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}}};
constexpr std::array<RealUnit, 6> kRateUnits = {
    {{"B/s"}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}, {"PB/s", 1e15}}};
constexpr std::array<RealUnit, 7> kFlopUnits = {{{"FLOPS"},
                                                 {"kFLOPS", 1e3},
                                                 {"MFLOPS", 1e6},
                                                 {"GFLOPS", 1e9},
                                                 {"TFLOPS", 1e12},
                                                 {"PFLOPS", 1e15},
                                                 {"EFLOPS", 1e18}}};
constexpr std::array<RealUnit, 6> kTimeUnits = {
    {{"ns", 1, 1e9}, {"us", 1, 1e6}, {"ms", 1, 1e3}, {"s"}, {"min", 60}, {"h", 3600}}};

// What a text is read as, for messages.
struct Wanted {
  std::string_view what;
  std::string_view units;
};
constexpr Wanted kSize = {"a size", "B, KiB, MiB, GiB, TiB, PiB, kB, MB, GB, TB or PB"};
constexpr Wanted kRate = {"a transfer rate",
                          "B/s, kB/s, MB/s, GB/s, TB/s, PB/s, KiB/s, MiB/s, GiB/s, TiB/s or PiB/s"};
constexpr Wanted kFlops = {
    "a computing rate",
    "FLOPS, kFLOPS, MFLOPS, GFLOPS, TFLOPS, PFLOPS or EFLOPS (also written GFLOP/s)"};
constexpr Wanted kTime = {"a time", "ns, us, ms, s, min or h"};

absl::Status Refused(std::string_view text, const Wanted& wanted, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("cannot read ", Quoted(text), " as ", wanted.what, ": ",
                                           why, "; write a number and one of ", wanted.units));
}

// Somebody who types "64" means 64 GiB more often than 64 bytes.
absl::Status WithoutUnit(std::string_view text, std::string_view number) {
  constexpr size_t kLongestShown = 12;
  const std::string_view shown = number.size() > kLongestShown ? "64" : number;
  return absl::InvalidArgumentError(StrCat(Quoted(text), " is a number without a unit; write ",
                                           shown, "GiB, ", shown, "MiB or ", shown, "B (bytes)"));
}

struct NumberAndUnit {
  std::string_view whole;     // at least one digit
  std::string_view fraction;  // the digits behind the point, if there is one
  std::string_view number;    // both, as written
  std::string_view unit;      // may be empty
};

std::string_view TakeDigits(std::string_view* text) {
  const std::string_view digits = text->substr(0, text->find_first_not_of("0123456789"));
  text->remove_prefix(digits.size());
  return digits;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// Takes "12.5 GiB" apart. Signs, exponents and separators are refused by not being digits.
absl::StatusOr<NumberAndUnit> Split(std::string_view text, const Wanted& wanted) {
  const std::string_view trimmed = Trimmed(text);
  std::string_view rest = trimmed;
  NumberAndUnit split;
  split.whole = TakeDigits(&rest);
  if (split.whole.empty()) return Refused(text, wanted, "it does not begin with a digit");
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    split.fraction = TakeDigits(&rest);
    if (split.fraction.empty()) return Refused(text, wanted, "no digit follows the point");
  }
  split.number = trimmed.substr(0, trimmed.size() - rest.size());
  split.unit = Trimmed(rest);
  return split;
}

// False when the number does not fit; no digits are zero.
bool ReadDigits(std::string_view digits, uint64_t* out) {
  if (digits.empty()) return true;
  return std::from_chars(digits.data(), digits.data() + digits.size(), *out).ec == std::errc();
}

const ByteUnit* FindByteUnit(std::string_view name) {
  for (const ByteUnit& unit : kByteUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

// The finite double number x times / per, refused when it is not.
absl::StatusOr<double> Scaled(std::string_view text, const NumberAndUnit& split,
                              const RealUnit& unit, const Wanted& wanted) {
  double number = 0;
  if (!absl::SimpleAtod({split.number.data(), split.number.size()}, &number) ||
      !std::isfinite(number * unit.times)) {
    return Refused(text, wanted, "the number is too large");
  }
  return number * unit.times / unit.per;
}

std::string WithoutTrailingZeros(std::string text) {
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string ThreeDigits(double number) {
  if (number < 0.01 || number >= 1e6) return absl::StrFormat("%.3g", number);
  // The bounds are where rounding would add a digit.
  return absl::StrFormat("%.*f", number < 9.995 ? 2 : (number < 99.95 ? 1 : 0), number);
}

// `value` in the largest unit that leaves it at one or more after rounding.
std::string PrintRounded(double value, std::span<const RealUnit> units) {
  std::string text;
  for (size_t i = units.size(); i-- > 0;) {
    text = ThreeDigits(value * units[i].per / units[i].times);
    double shown = 0;
    if (i == 0 || (absl::SimpleAtod(text, &shown) && shown >= 1)) {
      return StrCat(text, " ", units[i].name);
    }
  }
  return text;
}

// The shorter exact text when two decimals say the value to the bit, else three digits.
std::string Print(double value, std::span<const RealUnit> units, std::string_view base) {
  if (value == 0 || !std::isfinite(value)) {
    return StrCat(value == 0 ? "0" : absl::StrFormat("%g", value), " ", base);
  }
  if (value < 0) return StrCat("-", Print(-value, units, base));
  for (size_t i = units.size(); i-- > 0;) {
    const double number = value * units[i].per / units[i].times;
    if (number < 1 || number >= 1e6) continue;
    const std::string text = WithoutTrailingZeros(absl::StrFormat("%.2f", number));
    double shown = 0;
    if (absl::SimpleAtod(text, &shown) && shown * units[i].times / units[i].per == value) {
      return StrCat(text, " ", units[i].name);
    }
    break;
  }
  return PrintRounded(value, units);
}

}  // namespace

absl::StatusOr<Bytes> ParseBytes(std::string_view text) {
  const absl::StatusOr<NumberAndUnit> split = Split(text, kSize);
  if (!split.ok()) return split.status();
  if (split->unit.empty()) return WithoutUnit(text, split->number);
  const ByteUnit* unit = FindByteUnit(split->unit);
  if (unit == nullptr) {
    return Refused(text, kSize, StrCat("unknown unit ", Quoted(split->unit)));
  }
  // 18 digits keep numerator x unit below 2^110.
  if (split->fraction.size() > 18) {
    return Refused(text, kSize, "more than 18 digits behind the point");
  }
  uint64_t whole = 0;
  uint64_t fraction = 0;
  Uint128 denominator = 1;
  for (size_t i = 0; i < split->fraction.size(); ++i) denominator *= 10;
  const bool fits = ReadDigits(split->whole, &whole) && ReadDigits(split->fraction, &fraction);
  const Uint128 bytes = Uint128{whole} * unit->size +
                        (Uint128{fraction} * unit->size + denominator / 2) / denominator;
  if (!fits || bytes >= Uint128{1} << 63) {
    return Refused(text, kSize, "sizes must stay below 8192 PiB");
  }
  return Bytes(CheckedU64(static_cast<uint64_t>(bytes)));
}

absl::StatusOr<BytesPerSecond> ParseBytesPerSecond(std::string_view text) {
  const absl::StatusOr<NumberAndUnit> split = Split(text, kRate);
  if (!split.ok()) return split.status();
  std::string_view name = split->unit;
  const bool per_second = name.ends_with("/s");
  if (per_second) name.remove_suffix(2);
  const ByteUnit* unit = per_second ? FindByteUnit(name) : nullptr;
  if (unit == nullptr) {
    return Refused(text, kRate, StrCat("unknown unit ", Quoted(split->unit)));
  }
  const RealUnit real = {.name = unit->name, .times = static_cast<double>(unit->size)};
  const absl::StatusOr<double> value = Scaled(text, *split, real, kRate);
  if (!value.ok()) return value.status();
  if (*value <= 0) return Refused(text, kRate, "it must be above zero");
  return BytesPerSecond{*value};
}

absl::StatusOr<FlopsPerSecond> ParseFlopsPerSecond(std::string_view text) {
  const absl::StatusOr<NumberAndUnit> split = Split(text, kFlops);
  if (!split.ok()) return split.status();
  std::string name(split->unit);
  if (name.ends_with("FLOP/s")) name.replace(name.size() - 2, 2, "S");
  for (const RealUnit& unit : kFlopUnits) {
    if (unit.name != name) continue;
    const absl::StatusOr<double> value = Scaled(text, *split, unit, kFlops);
    if (!value.ok()) return value.status();
    if (*value <= 0) return Refused(text, kFlops, "it must be above zero");
    return FlopsPerSecond{*value};
  }
  return Refused(text, kFlops, StrCat("unknown unit ", Quoted(split->unit)));
}

absl::StatusOr<Seconds> ParseSeconds(std::string_view text) {
  const absl::StatusOr<NumberAndUnit> split = Split(text, kTime);
  if (!split.ok()) return split.status();
  for (const RealUnit& unit : kTimeUnits) {
    if (unit.name != (split->unit.empty() ? "s" : split->unit)) continue;
    const absl::StatusOr<double> value = Scaled(text, *split, unit, kTime);
    if (!value.ok()) return value.status();
    return Seconds{*value};
  }
  return Refused(text, kTime, StrCat("unknown unit ", Quoted(split->unit)));
}

std::string ToString(Bytes bytes) {
  if (!bytes.ok()) return "overflow";
  size_t i = kBinaryUnits - 1;
  while (i > 0 && kByteUnits[i].size > bytes.value()) --i;
  const ByteUnit& unit = kByteUnits[i];
  const Uint128 hundredths = Uint128{bytes.value()} * 100;
  if (hundredths % unit.size != 0) {
    return PrintRounded(static_cast<double>(bytes.value()), kSizeUnits);
  }
  const auto shown = static_cast<uint64_t>(hundredths / unit.size);
  const std::string number = absl::StrFormat("%d.%02d", shown / 100, shown % 100);
  return StrCat(WithoutTrailingZeros(number), " ", unit.name);
}

std::string ToString(Seconds seconds) { return Print(seconds.value, kTimeUnits, "s"); }
std::string ToString(BytesPerSecond rate) { return Print(rate.value, kRateUnits, "B/s"); }
std::string ToString(FlopsPerSecond rate) { return Print(rate.value, kFlopUnits, "FLOPS"); }

std::ostream& operator<<(std::ostream& out, Bytes bytes) {
  if (!bytes.ok()) return out << "overflow";
  return out << bytes.value() << " B";
}

std::string FlopsText(CheckedU64 flops) {
  if (!flops.ok()) return "overflow";
  constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t prefix = 0;
  uint64_t unit = 1;
  while (prefix + 1 < std::size(kPrefixes) && flops.value() / unit >= 1000) {
    unit *= 1000;
    ++prefix;
  }
  if (unit == 1) return StrCat(flops.value(), " FLOP");
  const uint64_t hundredths = flops.value() / (unit / 100);
  const uint64_t rest = hundredths % 100;
  return StrCat(hundredths / 100, rest < 10 ? ".0" : ".", rest, " ", kPrefixes[prefix], "FLOP");
}

std::string BytesText(CheckedU64 count) { return ToString(Bytes(count)); }

std::string WithCommas(uint64_t number) {
  std::string text = StrCat(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string ShortNumber(double value) {
  if (value >= 1000) return WithCommas(static_cast<uint64_t>(std::llround(value)));
  return absl::StrFormat("%.3g", value);
}

}  // namespace horizon

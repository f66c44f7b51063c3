#include "common/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

uint64_t BytesOf(std::string_view text) {
  const absl::StatusOr<Bytes> bytes = ParseBytes(text);
  EXPECT_TRUE(bytes.ok()) << text << ": " << bytes.status();
  return bytes.ok() ? bytes->value() : 0;
}

template <typename T>
std::string ErrorOf(const absl::StatusOr<T>& result) {
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(result.status().message());
}

TEST(ParseBytes, KnowsBinaryAndDecimalUnits) {
  EXPECT_EQ(BytesOf("512B"), 512U);
  EXPECT_EQ(BytesOf("512 B"), 512U);
  EXPECT_EQ(BytesOf("3KiB"), 3072U);
  EXPECT_EQ(BytesOf("64MiB"), uint64_t{64} << 20);
  EXPECT_EQ(BytesOf("768GiB"), uint64_t{768} << 30);
  EXPECT_EQ(BytesOf("1.5 TiB"), uint64_t{3} << 39);
  EXPECT_EQ(BytesOf("2 PiB"), uint64_t{2} << 50);
  EXPECT_EQ(BytesOf("1 kB"), 1000U);
  EXPECT_EQ(BytesOf("1 KB"), 1000U);
  EXPECT_EQ(BytesOf("64 MB"), 64'000'000U);
  EXPECT_EQ(BytesOf("1.25 GB"), 1'250'000'000U);
  EXPECT_EQ(BytesOf("7 TB"), 7'000'000'000'000U);
  EXPECT_EQ(BytesOf("9 PB"), 9'000'000'000'000'000U);
  EXPECT_EQ(BytesOf("  8   GiB  "), uint64_t{8} << 30);
  EXPECT_EQ(BytesOf("0B"), 0U);
  EXPECT_EQ(BytesOf("0007 B"), 7U);
}

TEST(ParseBytes, IsExactWhereDoublesAreNot) {
  EXPECT_EQ(BytesOf("9007199254740993B"), 9007199254740993U);
  EXPECT_EQ(BytesOf("9223372036854775807 B"), 9223372036854775807U);
  EXPECT_EQ(BytesOf("8191.999999999999998 PiB"), 9223372036854775806U);
  EXPECT_EQ(BytesOf("0.1 GB"), 100'000'000U);
}

TEST(ParseBytes, RoundsAFractionToTheNearestByte) {
  EXPECT_EQ(BytesOf("1.4 B"), 1U);
  EXPECT_EQ(BytesOf("1.5 B"), 2U);
  EXPECT_EQ(BytesOf("0.0004 KiB"), 0U);
  EXPECT_EQ(BytesOf("0.0005 KiB"), 1U);
  EXPECT_EQ(BytesOf("0.3 KiB"), 307U);  // 307.2
}

TEST(ParseBytes, RefusesTwoToThe63AndMore) {
  EXPECT_THAT(ErrorOf(ParseBytes("9223372036854775808 B")), HasSubstr("below 8192 PiB"));
  EXPECT_FALSE(ParseBytes("8192 PiB").ok());
  EXPECT_FALSE(ParseBytes("8191.9999999999999999 PiB").ok());
  EXPECT_FALSE(ParseBytes("18446744073709551616 B").ok());
  EXPECT_FALSE(ParseBytes("18446744073709551615 PiB").ok());
  EXPECT_FALSE(ParseBytes("16777216 TiB").ok());  // 2^64 wraps to 0
  EXPECT_FALSE(ParseBytes(std::string(100'000, '9') + " B").ok());
}

TEST(ParseBytes, RefusesWhatIsNotASize) {
  for (const char* text :
       {"",          " ",       "GiB",   "-1",   "+1",     "-0",      "1.",    ".5",    "1..5",
        "1.5.2",     "1e9",     "1,024", "0x10", "1 G",    "1 Gb",    "1 gib", "1 mb",  "1 GIB",
        "1 GiB GiB", "1 GiB/s", "nan",   "inf",  "1\tMiB", "1 MiB\n", "1 000", "1_000", "½"}) {
    const absl::StatusOr<Bytes> bytes = ParseBytes(text);
    EXPECT_EQ(bytes.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_FALSE(ParseBytes(std::string("1\0", 2)).ok());
  EXPECT_FALSE(ParseBytes("0.1234567890123456789 B").ok());
}

TEST(ParseBytes, RefusesANumberWithoutUnitAndSaysWhatToWrite) {
  EXPECT_EQ(ErrorOf(ParseBytes("64")),
            "\"64\" is a number without a unit; write 64GiB, 64MiB or 64B (bytes)");
  EXPECT_EQ(ErrorOf(ParseBytes(" 1.5 ")),
            "\" 1.5 \" is a number without a unit; write 1.5GiB, 1.5MiB or 1.5B (bytes)");
  EXPECT_FALSE(ParseBytes("0").ok());
  EXPECT_LT(ErrorOf(ParseBytes(std::string(100'000, '9'))).size(), 300U);
}

TEST(ParseBytes, ErrorNamesTheTextAndTheUnits) {
  const std::string error = ErrorOf(ParseBytes("5 gib"));
  EXPECT_THAT(error, HasSubstr("\"5 gib\""));
  EXPECT_THAT(error, HasSubstr("unknown unit \"gib\""));
  EXPECT_THAT(error, HasSubstr("KiB, MiB, GiB, TiB, PiB, kB, MB, GB, TB or PB"));
  EXPECT_LT(ErrorOf(ParseBytes(std::string(1'000'000, 'x'))).size(), 300U);
}

TEST(ToStringOfBytes, IsExactWithoutTrailingZerosWhereTwoDecimalsSuffice) {
  EXPECT_EQ(ToString(512_MiB), "512 MiB");
  EXPECT_EQ(ToString(24_GiB), "24 GiB");
  EXPECT_EQ(ToString(1536_GiB), "1.5 TiB");
  EXPECT_EQ(ToString(1280_KiB), "1.25 MiB");
  EXPECT_EQ(ToString(0_B), "0 B");
  EXPECT_EQ(ToString(1_B), "1 B");
  EXPECT_EQ(ToString(1023_B), "1023 B");
  EXPECT_EQ(ToString(1023_MiB), "1023 MiB");
  EXPECT_EQ(ToString(1000_KiB), "1000 KiB");
}

TEST(ToStringOfBytes, OtherwiseHasThreeDigits) {
  EXPECT_EQ(ToString(1025_B), "1.00 KiB");
  EXPECT_EQ(ToString(1500_B), "1.46 KiB");
  EXPECT_EQ(ToString(Bytes(CheckedU64(7'615'616'512))), "7.09 GiB");
  EXPECT_EQ(ToString(Bytes(CheckedU64(98'765'432'100))), "92.0 GiB");
  EXPECT_EQ(ToString(Bytes(CheckedU64(987'654'321'000))), "920 GiB");
  EXPECT_EQ(ToString(1_GiB - 1_B), "1.00 GiB");  // not "1024 MiB"
  EXPECT_EQ(ToString(Bytes(CheckedU64(std::numeric_limits<uint64_t>::max() - 1))), "16384 PiB");
  EXPECT_EQ(ToString(1_B - 2_B), "overflow");
}

RC_GTEST_PROP(ToStringOfBytes, ReadsBackExactlyOrWithinHalfAPercent, ()) {
  const auto bits = *rc::gen::arbitrary<uint64_t>();
  const uint64_t count = (bits >> 1) >> *rc::gen::inRange(0, 63);
  const std::string text = ToString(Bytes(CheckedU64(count)));
  const absl::StatusOr<Bytes> read = ParseBytes(text);
  if (!read.ok()) {
    RC_ASSERT(text == "8192 PiB");  // only rounding up to the limit itself cannot be read
    return;
  }
  const auto error = std::abs(static_cast<double>(read->value()) - static_cast<double>(count));
  RC_ASSERT(error <= 0.005 * static_cast<double>(count));
}

RC_GTEST_PROP(ToStringOfBytes, WholeQuartersOfAUnitReadBackExactly, ()) {
  const auto quarters = *rc::gen::inRange<uint64_t>(1, 4096);
  const int shift = *rc::gen::element(10, 20, 30, 40, 50);
  const Bytes bytes{CheckedU64(quarters << (shift - 2))};
  const absl::StatusOr<Bytes> read = ParseBytes(ToString(bytes));
  RC_ASSERT(read.ok());
  RC_ASSERT(*read == bytes);
}

RC_GTEST_PROP(ParseBytes, EveryCountBelowTwoToThe63ReadsBackFromItsDigits, (uint64_t bits)) {
  const uint64_t count = bits >> 1;
  RC_ASSERT(BytesOf(std::to_string(count) + " B") == count);
}

TEST(ParseBytesPerSecond, KnowsBothKindsOfUnits) {
  EXPECT_EQ(ParseBytesPerSecond("26 GB/s")->value, 26e9);
  EXPECT_EQ(ParseBytesPerSecond("64GiB/s")->value, 64 * 0x1p30);
  EXPECT_EQ(ParseBytesPerSecond("0.5 kB/s")->value, 500);
  EXPECT_EQ(ParseBytesPerSecond("1 B/s")->value, 1);
}

TEST(ParseBytesPerSecond, RefusesZeroInfiniteAndUnitless) {
  EXPECT_THAT(ErrorOf(ParseBytesPerSecond("0 GB/s")), HasSubstr("above zero"));
  EXPECT_FALSE(ParseBytesPerSecond("0." + std::string(400, '0') + "1 B/s").ok());
  EXPECT_THAT(ErrorOf(ParseBytesPerSecond(std::string(400, '9') + " B/s")), HasSubstr("too large"));
  EXPECT_FALSE(ParseBytesPerSecond(std::string(300, '9') + " PB/s").ok());
  for (const char* text : {"26", "26 GB", "26 GB/h", "26 Gb/s", "26 /s", "-1 GB/s", "26 GB/s/s"}) {
    EXPECT_THAT(ErrorOf(ParseBytesPerSecond(text)), HasSubstr("GiB/s")) << text;
  }
}

TEST(ParseFlopsPerSecond, KnowsBothSpellings) {
  EXPECT_EQ(ParseFlopsPerSecond("989 TFLOPS")->value, 989e12);
  EXPECT_EQ(ParseFlopsPerSecond("1.2 PFLOPS")->value, 1.2e15);
  EXPECT_EQ(ParseFlopsPerSecond("30 GFLOP/s")->value, 30e9);
  EXPECT_EQ(ParseFlopsPerSecond("7FLOP/s")->value, 7);
  EXPECT_EQ(ParseFlopsPerSecond("2 EFLOPS")->value, 2e18);
}

TEST(ParseFlopsPerSecond, RefusesOtherWords) {
  for (const char* text : {"989", "989 T", "989 TFLOP", "989 tflops", "989 TFLOPs", "0 TFLOPS",
                           "989 TFLOPS/s", "989 FLOPSFLOP/s", "/s", "FLOP/s"}) {
    EXPECT_THAT(ErrorOf(ParseFlopsPerSecond(text)), HasSubstr("GFLOPS")) << text;
  }
}

TEST(ParseSeconds, KnowsItsUnitsAndTakesABareNumberAsSeconds) {
  EXPECT_EQ(ParseSeconds("5")->value, 5);
  EXPECT_EQ(ParseSeconds("5 s")->value, 5);
  EXPECT_EQ(ParseSeconds("250 ms")->value, 0.25);
  EXPECT_EQ(ParseSeconds("7 ns")->value, 7e-9);
  EXPECT_EQ(ParseSeconds("3 us")->value, 3e-6);
  EXPECT_EQ(ParseSeconds("3 min")->value, 180);
  EXPECT_EQ(ParseSeconds("2 h")->value, 7200);
  EXPECT_EQ(ParseSeconds("0")->value, 0);
}

TEST(ParseSeconds, RefusesNegativeAndUnknown) {
  for (const char* text : {"-1", "-1 s", "1 sec", "1 m", "1 d", "", "s", "1e3"}) {
    EXPECT_THAT(ErrorOf(ParseSeconds(text)), HasSubstr("ns, us, ms, s, min or h")) << text;
  }
}

TEST(ToStringOfRealQuantities, IsExactWhereTwoDecimalsSuffice) {
  EXPECT_EQ(ToString(BytesPerSecond{26e9}), "26 GB/s");
  EXPECT_EQ(ToString(BytesPerSecond{1.5e12}), "1.5 TB/s");
  EXPECT_EQ(ToString(FlopsPerSecond{989e12}), "989 TFLOPS");
  EXPECT_EQ(ToString(FlopsPerSecond{312.25e12}), "312.25 TFLOPS");
  EXPECT_EQ(ToString(Seconds{0.25}), "250 ms");
  EXPECT_EQ(ToString(Seconds{0}), "0 s");
  EXPECT_EQ(ToString(Seconds{7e-9}), "7 ns");
  EXPECT_EQ(ToString(Seconds{90}), "1.5 min");
  EXPECT_EQ(ToString(Seconds{7200}), "2 h");
  EXPECT_EQ(ToString(BytesPerSecond{0}), "0 B/s");
}

TEST(ToStringOfRealQuantities, OtherwiseHasThreeDigits) {
  EXPECT_EQ(ToString(BytesPerSecond{26.0001e9}), "26.0 GB/s");
  EXPECT_EQ(ToString(BytesPerSecond{25.987654e9}), "26.0 GB/s");
  EXPECT_EQ(ToString(BytesPerSecond{999.9e9 + 1}), "1.00 TB/s");  // not "1000 GB/s"
  EXPECT_EQ(ToString(Seconds{1.0 / 3}), "333 ms");
  EXPECT_EQ(ToString(Seconds{59.9999}), "1.00 min");
  EXPECT_EQ(ToString(Seconds{-1.0 / 3}), "-333 ms");
  EXPECT_EQ(ToString(Seconds{1e-12}), "0.001 ns");
  EXPECT_EQ(ToString(Seconds{1e300}), "2.78e+296 h");
  EXPECT_EQ(ToString(Seconds{std::numeric_limits<double>::infinity()}), "inf s");
}

RC_GTEST_PROP(ToStringOfRealQuantities, ReadBackExactlyWhenGivenWithTwoDecimals, ()) {
  const auto hundredths = *rc::gen::inRange(100, 99'999);
  const std::string unit = *rc::gen::element<std::string>(" GB/s", " kB/s", " TB/s");
  const std::string text =
      std::to_string(hundredths / 100) + "." + std::to_string(hundredths % 100 + 100).substr(1);
  const absl::StatusOr<BytesPerSecond> rate = ParseBytesPerSecond(text + unit);
  RC_ASSERT(rate.ok());
  const absl::StatusOr<BytesPerSecond> again = ParseBytesPerSecond(ToString(*rate));
  RC_ASSERT(again.ok());
  RC_ASSERT(again->value == rate->value);
}

TEST(WithCommas, GroupsByThousands) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(7'615'616'512), "7,615,616,512");
  EXPECT_EQ(WithCommas(std::numeric_limits<uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(ShortNumber, HasThreeDigitsAndCommasFromAThousandOn) {
  EXPECT_EQ(ShortNumber(0), "0");
  EXPECT_EQ(ShortNumber(0.012345), "0.0123");
  EXPECT_EQ(ShortNumber(12.345), "12.3");
  EXPECT_EQ(ShortNumber(999.4), "999");
  EXPECT_EQ(ShortNumber(1234.5), "1,235");
}

TEST(Bytes, AreScaledAndDividedWithChecks) {
  EXPECT_EQ(4_B * 3, 12_B);
  EXPECT_EQ(3 * 4_B, 12_B);
  EXPECT_EQ(13_B / 4, 3_B);
  EXPECT_EQ((13_B / 4_B).value(), 3u);
  Bytes size = 10_KiB;
  size -= 1_KiB;
  size *= 2;
  EXPECT_EQ(size, 18_KiB);
  EXPECT_EQ(static_cast<double>(3_KiB), 3072.0);
  EXPECT_FALSE((1_B / 0).ok());
  EXPECT_FALSE((1_B / 0_B).ok());
  EXPECT_FALSE((1_B - 2_B).ok());
  EXPECT_FALSE((1_GiB * (uint64_t{1} << 60)).ok());
  EXPECT_FALSE(((1_B - 2_B) / 3).ok()) << "an overflow stays one";
}

TEST(BytesText, IsTheTextOfBytes) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(uint64_t{3} << 19), "1.5 MiB");
  EXPECT_EQ(BytesText(CheckedU64::Overflowed()), "overflow");
}

TEST(Units, WorkIsPrintedWithTwoDecimalsRoundedDown) {
  EXPECT_EQ(FlopsText(0), "0 FLOP");
  EXPECT_EQ(FlopsText(999), "999 FLOP");
  EXPECT_EQ(FlopsText(1000), "1.00 kFLOP");
  EXPECT_EQ(FlopsText(999'999), "999.99 kFLOP");
  EXPECT_EQ(FlopsText(360'807'000'000), "360.80 GFLOP");
  EXPECT_EQ(FlopsText(18'000'000'000'000'000'000u), "18.00 EFLOP");
  EXPECT_EQ(FlopsText(CheckedU64::Overflowed()), "overflow");
}

}  // namespace
}  // namespace horizon

// Values that the library (tokenizers 0.23.3) read from a file and wrote again.
#include "model/tokenizer/text/rust_number.h"

#include <gtest/gtest.h>

#include <optional>

namespace horizon {
namespace {

TEST(ReadLikeSerde, RoundsAsTheLibrary) {
  // The nearest doubles end in ...a6p+1, ...d4p+2 and ...2cp+2.
  EXPECT_EQ(ReadLikeSerde("-3.7176101207733154"), -0x1.dbdaa5fffffffp+1);
  EXPECT_EQ(ReadLikeSerde("-7.2745866775512695"), -0x1.d192d3fffffffp+2);
  EXPECT_EQ(ReadLikeSerde("-7.3196516036987305"), -0x1.d4752c0000001p+2);
}

TEST(ReadLikeSerde, TakesWhatJsonAllows) {
  EXPECT_EQ(ReadLikeSerde("0"), 0.0);
  EXPECT_EQ(ReadLikeSerde("-0.0"), 0.0);
  EXPECT_EQ(ReadLikeSerde("-1.5"), -1.5);
  EXPECT_EQ(ReadLikeSerde("12E+2"), 1200.0);
  EXPECT_EQ(ReadLikeSerde("1e-7"), 0x1.ad7f29abcaf48p-24);
  EXPECT_EQ(ReadLikeSerde("-1e308"), -1e308);
}

TEST(ReadLikeSerde, TakesMoreDigitsThanFit) {
  EXPECT_EQ(ReadLikeSerde("18446744073709551616.25"), 0x1p+64);
  EXPECT_EQ(ReadLikeSerde("123456789012345678901234567890.5"), 0x1.8ee90ff6c373ep+96);
  EXPECT_EQ(ReadLikeSerde("-12345678901234567890123e-10"), -0x1.1f71fb04cb74fp+40);
  EXPECT_EQ(ReadLikeSerde("0.1000000000000000055511151231257827"), 0.1);
}

TEST(ReadLikeSerde, EndsAtTheLimitsOfDouble) {
  EXPECT_EQ(ReadLikeSerde("1e309"), std::nullopt);
  EXPECT_EQ(ReadLikeSerde("99e307"), std::nullopt);
  EXPECT_EQ(ReadLikeSerde("1e99999999999999999999"), std::nullopt);
  EXPECT_EQ(ReadLikeSerde("1e-400"), 0.0);
  EXPECT_EQ(ReadLikeSerde("1e-99999999999999999999"), 0.0);
  EXPECT_EQ(ReadLikeSerde("0e999"), 0.0);
  EXPECT_EQ(ReadLikeSerde("4.9e-324"), 0x1p-1074);
}

}  // namespace
}  // namespace horizon

#include "common/text/str_cat.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace horizon {
namespace {

TEST(StrCat, JoinsTextOfEveryKind) {
  const absl::Status status = absl::NotFoundError("message");
  EXPECT_EQ(StrCat("a", std::string("b"), std::string_view("c"), 'd', status.message()),
            "abcdmessage");
  EXPECT_EQ(StrCat(), "");
  EXPECT_EQ(StrCat(std::string_view("a\0b", 3)).size(), 3u);
}

TEST(StrCat, WritesWholeNumbersInFull) {
  EXPECT_EQ(StrCat(0, " ", -7, " ", size_t{12}), "0 -7 12");
  EXPECT_EQ(StrCat(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(StrCat(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(StrCat(uint16_t{65}, " ", int8_t{65}), "65 65");
}

TEST(StrCat, WritesRealNumbersAsTheShortestTextThatReadsBack) {
  EXPECT_EQ(StrCat(0.1, " ", 1e300, " ", 0.1f), "0.1 1e+300 0.1");
  EXPECT_EQ(StrCat(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(std::stod(StrCat(-std::numeric_limits<double>::max())),
            -std::numeric_limits<double>::max());
}

}  // namespace
}  // namespace horizon

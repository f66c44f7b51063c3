#include "model/chat/date_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace horizon {
namespace {

using testing::HasSubstr;

// 2024-07-26 15:04:05 UTC, a Friday; 2000-02-29 and 1970-01-01 were a Tuesday and a Thursday.
constexpr int64_t kAfternoon = 1722006245;

TEST(DateText, WritesWhatTemplatesAskFor) {
  EXPECT_EQ(DateText("%d %b %Y", kAfternoon), "26 Jul 2024");
  EXPECT_EQ(DateText("%Y-%m-%d", kAfternoon), "2024-07-26");
  EXPECT_EQ(DateText("%B %-d, %Y (%A)", kAfternoon), "July 26, 2024 (Friday)");
  EXPECT_EQ(DateText("%H:%M:%S %I %p", kAfternoon), "15:04:05 03 PM");
  EXPECT_EQ(DateText("%F %T %D", kAfternoon), "2024-07-26 15:04:05 07/26/24");
  EXPECT_EQ(DateText("%a %j %y %u %w %e", kAfternoon), "Fri 208 24 5 5 26");
}

TEST(DateText, KnowsLeapDaysAndMidnight) {
  EXPECT_EQ(DateText("%A %d %B %j", 951782400), "Tuesday 29 February 060");
  EXPECT_EQ(DateText("%A %I %p %-j %_d", 0), "Thursday 12 AM 1  1");
  EXPECT_EQ(DateText("%Y-%m-%d", -1), "1969-12-31");
}

TEST(DateText, LeavesWhatItDoesNotKnow) {
  EXPECT_EQ(DateText("100% %Q %%", 0), "100% %Q %");
  EXPECT_EQ(DateText("%", 0), "%");
  EXPECT_EQ(DateText("%-", 0), "%-");
  EXPECT_EQ(DateText("", 0), "");
}

TEST(DateText, DaysAreParsedStrictly) {
  EXPECT_EQ(*ParseDay("1970-01-01"), 0);
  EXPECT_EQ(DateText("%c", *ParseDay("2000-02-29")), "Tue Feb 29 00:00:00 2000");
  for (const char* text : {"", "2024-7-26", "26-07-2024", "2024-02-30", "2024-00-10", "1969-12-31",
                           "2024-07-26 ", "2024/07/26", "-024-07-26", "2024-07-2x"}) {
    const absl::Status status = ParseDay(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("write it as 2024-07-26"));
  }
}

}  // namespace
}  // namespace horizon

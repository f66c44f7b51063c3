#include "report/read_routing_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Of 10 tokens each chose 2 of 3 experts, in 2 of the model's layers.
const RoutingLine kLine = {.step = 50,
                           .first_step = 41,
                           .experts = 3,
                           .experts_per_token = 2,
                           .layers = {1, 3},
                           .tokens = 10,
                           .counts = {10, 10, 0, 7, 7, 6}};

constexpr char kText[] =
    R"({"step": 50, "first_step": 41, "experts": 3, "experts_per_token": 2, "layers": [1, 3], )"
    R"("tokens": 10, "counts": [[10, 10, 0], [7, 7, 6]]})";

TEST(ReadRoutingLine, ReadsWhatIsWritten) {
  EXPECT_EQ(RoutingText(kLine), kText);
  const absl::StatusOr<RoutingLine> read = ReadRoutingLine("routing.jsonl line 1", kText);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, kLine);
}

TEST(ReadRoutingLine, StepsOfPaddingAloneHaveNoCounts) {
  RoutingLine line = kLine;
  line.tokens = 0;
  line.counts.assign(6, 0);
  const absl::StatusOr<RoutingLine> read = ReadRoutingLine("x", RoutingText(line));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, line);
}

TEST(ReadRoutingLine, AnInvalidLineIsRefusedWithItsPlaceAndKey) {
  struct Case {
    std::string part;  // of kText
    std::string instead;
    std::string message;
  };
  const std::string counts = "[[10, 10, 0], [7, 7, 6]]";
  for (const Case& bad : {
           Case{R"("step": 50, )", "", "step: required and missing"},
           Case{R"("step": 50)", R"("step": 0)", "step: needs"},
           Case{R"("step": 50)", R"("step": -3)", "step: needs"},
           Case{R"("first_step": 41, )", "", "first_step: required and missing"},
           Case{R"("first_step": 41)", R"("first_step": 51)", "first_step: needs"},
           Case{R"("first_step": 41)", R"("first_step": 0)", "first_step: needs"},
           Case{R"("experts": 3, )", "", "experts: required and missing"},
           Case{R"("experts": 3)", R"("experts": 0)", "experts: needs"},
           Case{R"("experts": 3)", R"("experts": -3)", "experts: needs"},
           Case{R"("experts": 3)", R"("experts": 4)", "counts: needs a number for each expert"},
           Case{R"("experts": 3)", R"("experts": 9000000000000000000)", "counts: needs a number"},
           Case{R"("experts_per_token": 2, )", "", "experts_per_token: required and missing"},
           Case{R"("experts_per_token": 2)", R"("experts_per_token": 0)", "experts_per_token: "},
           Case{R"("experts_per_token": 2)", R"("experts_per_token": 4)", "experts_per_token: "},
           Case{R"("experts_per_token": 2)", R"("experts_per_token": 3)", "counts: of a layer"},
           Case{R"("layers": [1, 3], )", "", "layers: required and missing"},
           Case{"[1, 3]", "[]", "layers: needs"},
           Case{"[1, 3]", "[3, 1]", "layers: needs"},
           Case{"[1, 3]", "[1, 1]", "layers: needs"},
           Case{"[1, 3]", "[-1, 3]", "layers: needs"},
           Case{"[1, 3]", "[1, 2, 3]", "counts: needs an array for each"},
           Case{"[1, 3]", "[1]", "counts: needs an array for each"},
           Case{"[1, 3]", "7", "layers: needs an array"},
           Case{R"("tokens": 10, )", "", "tokens: required and missing"},
           Case{R"("tokens": 10)", R"("tokens": -10)", "tokens: needs"},
           Case{R"("tokens": 10)", R"("tokens": 9)", "counts: needs whole numbers"},
           Case{R"("tokens": 10)", R"("tokens": 11)", "counts: of a layer"},
           Case{R"("tokens": 10)", R"("tokens": 9223372036854775807)", "counts: of a layer"},
           Case{R"(, "counts": )" + counts, "", "counts: required and missing"},
           Case{counts, "null", "counts: needs an array for each"},
           Case{counts, "[[10, 10], [7, 7, 6]]", "counts: needs a number for each"},
           Case{counts, "[[10, 10, 0, 0], [7, 7, 6]]", "counts: needs a number for each"},
           Case{counts, "[10, 10]", "counts: needs a number for each"},
           Case{counts, "[[10, 10, 0], [7, 8, 6]]", "counts: of a layer"},
           Case{counts, "[[10, 10, 0], [-1, 10, 11]]", "counts: needs whole numbers"},
           Case{counts, "[[10, 10, 0], [7.5, 7, 5.5]]", "counts: needs whole numbers"},
           Case{counts, R"([[10, 10, 0], ["7", 7, 6]])", "counts: needs whole numbers"},
           Case{counts, "[[10, 10, 0], [7, 7, 6]], \"more\": 1", R"(unknown key "more")"},
           Case{kText, "[1]", "needs an object"},
           Case{kText, "garbage", ""},
       }) {
    std::string text = kText;
    const size_t at = text.find(bad.part);
    ASSERT_NE(at, std::string::npos) << bad.part;
    text.replace(at, bad.part.size(), bad.instead);
    const absl::Status status = ReadRoutingLine("routing.jsonl line 7", text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << " " << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(StartsWith("routing.jsonl line 7:1: "), HasSubstr(bad.message)))
        << text;
  }
}

}  // namespace
}  // namespace horizon

#include "presentation/bar_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "tests/presentation/xml_check.h"

namespace horizon {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

BarChart Sample() {
  return {.title = "By size",
          .x_label = "model",
          .y_label = "TFLOPS",
          .categories = {"7B", "14B"},
          .series = {{.name = "horizon", .bars = {{100}, {50}}},
                     {.name = "gemini", .bars = {{53.25}, {std::nullopt, "OOM"}}}}};
}

struct DrawnBar {
  double x, y, width, height;
};

std::vector<DrawnBar> Bars(const std::string& svg) {
  std::vector<DrawnBar> bars;
  static const std::regex kBar(
      R"re(<rect x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)" fill)re");
  for (std::sregex_iterator at(svg.begin(), svg.end(), kBar), end; at != end; ++at) {
    bars.push_back(
        {std::stod((*at)[1]), std::stod((*at)[2]), std::stod((*at)[3]), std::stod((*at)[4])});
  }
  return bars;
}

TEST(BarList, BarsAreAsLongAsTheirValuesAndStandBelowEachOther) {
  const std::string svg = DrawBarList(Sample());
  EXPECT_EQ(XmlProblem(svg), "");
  const std::vector<DrawnBar> bars = Bars(svg);  // 7B horizon, 7B gemini, 14B horizon
  ASSERT_EQ(bars.size(), 3U);
  EXPECT_NEAR(bars[1].width / bars[0].width, 0.5325, 1e-3);
  EXPECT_NEAR(bars[2].width / bars[0].width, 0.5, 1e-3);
  for (size_t i = 1; i < bars.size(); ++i) {
    EXPECT_EQ(bars[i].x, bars[0].x);
    EXPECT_GE(bars[i].y, bars[i - 1].y + bars[i - 1].height) << "bars do not overlap";
  }
}

TEST(BarList, EveryBarHasItsValueAndWhatIsMissingItsReason) {
  const std::vector<std::string> texts = ElementTexts(DrawBarList(Sample()), "text");
  for (const char* text : {"By size", "TFLOPS by model", "7B", "14B", "horizon", "gemini", "100",
                           "50.0", "53.2", "OOM"}) {
    EXPECT_THAT(texts, Contains(text));
  }
}

// On a phone a unit is a pixel or more: text of 12 units and nothing outside of 320.
TEST(BarList, FitsAPhoneWithTextOfTwelvePixels) {
  BarChart chart = Sample();
  chart.title = chart.categories[0] = chart.series[1].name = std::string(200, 'w');
  chart.series[1].bars[1].missing = std::string(200, 'm');
  const std::string svg = DrawBarList(chart);
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 320 "));
  static const std::regex kSize("font-size=\"([0-9.]+)\"");
  for (std::sregex_iterator at(svg.begin(), svg.end(), kSize), end; at != end; ++at) {
    EXPECT_GE(std::stod((*at)[1]), 12);
  }
  for (const DrawnBar& bar : Bars(svg)) EXPECT_LE(bar.x + bar.width, 320 - 40);
  for (const std::string& text : ElementTexts(svg, "text")) EXPECT_LT(text.size(), 50U) << text;
}

TEST(BarList, NegativeBarsLeaveTheirZeroToTheLeft) {
  const std::vector<DrawnBar> bars =
      Bars(DrawBarList({.categories = {"a", "b"}, .series = {{.bars = {{-20}, {10}}}}}));
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_NEAR(bars[0].x + bars[0].width, bars[1].x, 0.02);
  EXPECT_NEAR(bars[0].width, 2 * bars[1].width, 0.05);
}

TEST(BarList, ExtremeValuesAndNoneAtAllAreDrawn) {
  for (const double value : {1e300, 1e-300, 5e-324, 0.0, -1e300, std::nan("")}) {
    const std::string svg =
        DrawBarList({.categories = {"a"}, .series = {{.name = "s", .bars = {{value}}}}});
    EXPECT_EQ(XmlProblem(svg), "") << value;
    EXPECT_THAT(svg, Not(HasSubstr("nan\""))) << value;
    EXPECT_THAT(svg, Not(HasSubstr("inf\""))) << value;
  }
  EXPECT_THAT(ElementTexts(DrawBarList({}), "text"), Contains("no data"));
  BarChart no_series = Sample();
  no_series.series.clear();
  EXPECT_THAT(ElementTexts(DrawBarList(no_series), "text"), Contains("no data"));
}

TEST(BarList, EveryTextIsEscaped) {
  const std::string evil = "<b>&\"'";
  const std::string svg =
      DrawBarList({.title = evil,
                   .x_label = evil,
                   .y_label = evil,
                   .categories = {evil, evil},
                   .series = {{.name = evil, .bars = {{1}, {std::nullopt, evil}}}}});
  EXPECT_EQ(XmlProblem(svg), "");
  EXPECT_EQ(CountOf(svg, "<b>"), 0);
}

}  // namespace
}  // namespace horizon

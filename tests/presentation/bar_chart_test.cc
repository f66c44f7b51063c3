#include "presentation/bar_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "tests/presentation/xml_check.h"

namespace horizon {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

BarChart Sample() {
  return {.title = "By size",
          .y_label = "TFLOPS",
          .categories = {"7B", "14B"},
          .series = {{.name = "horizon", .bars = {{100}, {50}}},
                     {.name = "gemini", .bars = {{53.25}, {std::nullopt, "OOM"}}}}};
}

struct DrawnBar {
  double x, y, width, height;
};

// The bars of data: every rect but the background and the swatches of the legend.
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

TEST(BarChart, BarsStandOnZeroAndAreAsHighAsTheirValues) {
  const std::string svg = DrawSvg(Sample());
  EXPECT_EQ(XmlProblem(svg), "");
  const std::vector<DrawnBar> bars = Bars(svg);
  ASSERT_EQ(bars.size(), 3U);
  EXPECT_NEAR(bars[1].height / bars[0].height, 0.5, 1e-3);
  EXPECT_NEAR(bars[2].height / bars[0].height, 0.5325, 1e-3);
  for (const DrawnBar& bar : bars) {
    EXPECT_NEAR(bar.y + bar.height, bars[0].y + bars[0].height, 0.02);
  }
  EXPECT_GT(bars[1].x, bars[2].x + bars[2].width) << "a category keeps to its own place";
  EXPECT_GT(bars[2].x, bars[0].x + bars[0].width - 0.01) << "bars of a group do not overlap";
}

TEST(BarChart, AMissingBarIsMarkedWithItsReason) {
  const std::string svg = DrawSvg(Sample());
  EXPECT_THAT(ElementTexts(svg, "text"), Contains("OOM"));
  EXPECT_THAT(ElementTexts(svg, "title"),
              ElementsAre("7B\nhorizon\nTFLOPS: 100", "14B\nhorizon\nTFLOPS: 50",
                          "7B\ngemini\nTFLOPS: 53.25", "14B\ngemini\nTFLOPS: OOM"));
}

TEST(BarChart, ABarWithoutValueAndReasonLeavesItsPlaceEmpty) {
  BarChart chart = Sample();
  chart.series[1].bars.pop_back();
  const std::string svg = DrawSvg(chart);
  EXPECT_EQ(Bars(svg).size(), 3U);
  EXPECT_EQ(CountOf(svg, "<title>"), 3);
  EXPECT_NEAR(Bars(svg)[2].x, Bars(DrawSvg(Sample()))[2].x, 1e-9);
}

TEST(BarChart, AValueThatIsNotFiniteIsAMissingBar) {
  BarChart chart = Sample();
  chart.series[1].bars[0] = {std::nan(""), "not finite"};
  chart.series[1].bars[1] = {INFINITY, ""};
  const std::string svg = DrawSvg(chart);
  EXPECT_EQ(Bars(svg).size(), 2U);
  EXPECT_THAT(ElementTexts(svg, "text"), Contains("not finite"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(BarChart, NegativeBarsHangFromZero) {
  const std::vector<DrawnBar> bars =
      Bars(DrawSvg(BarChart{.categories = {"a", "b"}, .series = {{.bars = {{-20}, {10}}}}}));
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_NEAR(bars[0].height, 2 * bars[1].height, 0.05);
  EXPECT_NEAR(bars[0].y, bars[1].y + bars[1].height, 0.02);
}

TEST(BarChart, ValuesAreWrittenOnlyWhereAllHaveRoom) {
  EXPECT_THAT(ElementTexts(DrawSvg(Sample()), "text"), Contains("53.2"));
  BarChart narrow = Sample();
  narrow.categories.resize(30, "c");
  EXPECT_THAT(ElementTexts(DrawSvg(narrow), "text"), Not(Contains("53.2")));
}

TEST(BarChart, NamesWithoutRoomSlopeAndStayOnTheCanvas) {
  BarChart chart = Sample();
  EXPECT_THAT(DrawSvg(chart), Not(HasSubstr("rotate(-35)")));
  chart.categories.assign(8, "a machine with a long name");
  const std::string svg = DrawSvg(chart);
  EXPECT_EQ(CountOf(svg, "rotate(-35)"), 8);
  chart.categories.assign(200, "n");
  EXPECT_LT(CountOf(DrawSvg(chart), ">n</text>"), 60) << "names would lie on each other";
}

TEST(BarChart, WithoutCategoriesOrSeriesItSaysSo) {
  BarChart no_series = Sample();
  no_series.series.clear();
  for (const BarChart& chart : {BarChart{}, no_series}) {
    EXPECT_EQ(XmlProblem(DrawSvg(chart)), "");
    EXPECT_THAT(ElementTexts(DrawSvg(chart), "text"), Contains("no data"));
  }
}

TEST(BarChart, ExtremeValuesAreDrawn) {
  for (const double value : {1e300, 1e-300, 5e-324, 0.0, -1e300}) {
    BarChart chart{.categories = {"a"}, .series = {{.name = "s", .bars = {{value}}}}};
    const std::string svg = DrawSvg(chart);
    EXPECT_EQ(XmlProblem(svg), "") << value;
    ASSERT_EQ(Bars(svg).size(), 1U) << value;
    EXPECT_LE(Bars(svg)[0].y + Bars(svg)[0].height, 420) << value;
  }
}

TEST(BarChart, EveryTextIsEscaped) {
  const std::string evil = "<b>&\"'";
  const BarChart chart{.title = evil,
                       .x_label = evil,
                       .y_label = evil,
                       .categories = {evil, evil + "a much longer name than there is room for"},
                       .series = {{.name = evil, .bars = {{1}, {std::nullopt, evil}}}}};
  const std::string svg = DrawSvg(chart);
  EXPECT_EQ(XmlProblem(svg), "");
  EXPECT_EQ(CountOf(svg, "<b>"), 0);
}

}  // namespace
}  // namespace horizon

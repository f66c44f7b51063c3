#include "presentation/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <regex>

#include "common/text/str_cat.h"
#include "tests/presentation/xml_check.h"

namespace horizon {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Plot Sample() {
  return {.title = "Throughput",
          .x_label = "sequence",
          .y_label = "tokens/s",
          .x_scale = Scale::kLog2,
          .series = {{.name = "horizon", .points = {{1024, 6100}, {8192, 6400.25}}},
                     {.name = "published",
                      .style = SeriesStyle::kMarkers,
                      .points = {{1024, 5981.2}},
                      .color = 0}}};
}

// The end points of all lines of data: the path with round joins.
std::vector<std::string> DataLines(const std::string& svg) {
  std::vector<std::string> lines;
  static const std::regex kLine("<path d=\"([^\"]*)\" fill=\"none\"");
  for (std::sregex_iterator at(svg.begin(), svg.end(), kLine), end; at != end; ++at) {
    lines.push_back((*at)[1]);
  }
  return lines;
}

Plot OneSeries(std::vector<std::pair<double, double>> points) {
  return {.x_label = "x", .y_label = "y", .series = {{.name = "s", .points = std::move(points)}}};
}

TEST(Plot, IsOneWellFormedDrawingWithItsTexts) {
  const std::string svg = DrawSvg(Sample());
  EXPECT_EQ(XmlProblem(svg), "");
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 720 420\""));
  const std::vector<std::string> texts = ElementTexts(svg, "text");
  for (const char* text : {"Throughput", "sequence", "tokens/s", "horizon", "published", "1,024",
                           "2,048", "8,192", "0", "7,000"}) {
    EXPECT_THAT(texts, Contains(text));
  }
}

TEST(Plot, EveryPointSaysItsExactValues) {
  EXPECT_THAT(ElementTexts(DrawSvg(Sample()), "title"),
              ElementsAre("horizon\nsequence: 1024\ntokens/s: 6100",
                          "horizon\nsequence: 8192\ntokens/s: 6400.25",
                          "published\nsequence: 1024\ntokens/s: 5981.2"));
  Plot lines = OneSeries({{1, 0.1}});
  lines.series[0].style = SeriesStyle::kDashedLine;
  EXPECT_THAT(ElementTexts(DrawSvg(lines), "title"), ElementsAre("s\nx: 1\ny: 0.1"));
}

TEST(Plot, LooksRightInTheDarkAndRefersToNothing) {
  const std::string svg = DrawSvg(Sample());
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(svg, HasSubstr("font-family=\"system-ui"));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("url(")));
  EXPECT_THAT(svg, Not(HasSubstr(" id=")));
}

TEST(Plot, TheSamePlotGivesTheSameBytes) { EXPECT_EQ(DrawSvg(Sample()), DrawSvg(Sample())); }

TEST(Plot, EveryTextIsEscaped) {
  const std::string evil = "<script>&\"']]>\x01\xFF";
  Plot plot = Sample();
  plot.title = plot.x_label = plot.y_label = plot.series[0].name = evil;
  const std::string svg = DrawSvg(plot);
  EXPECT_EQ(XmlProblem(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(ElementTexts(svg, "text"),
              Contains("&lt;script&gt;&amp;&quot;&#39;]]&gt;\uFFFD\uFFFD"));
}

TEST(Plot, StylesDiffer) {
  const auto draw = [](SeriesStyle style) {
    Plot plot = OneSeries({{0, 0}, {1, 1}});
    plot.series[0].name = "";
    plot.series[0].style = style;
    return DrawSvg(plot);
  };
  const std::string both = draw(SeriesStyle::kLineAndMarkers);
  EXPECT_EQ(DataLines(both).size(), 1U);
  EXPECT_EQ(CountOf(both, "<path transform"), 2);
  const std::string markers = draw(SeriesStyle::kMarkers);
  EXPECT_EQ(DataLines(markers).size(), 0U);
  EXPECT_EQ(CountOf(markers, "<path transform"), 2);
  const std::string line = draw(SeriesStyle::kLine);
  EXPECT_EQ(CountOf(line, "<path transform"), 0);
  EXPECT_EQ(CountOf(line, "stroke-dasharray"), 0);
  EXPECT_EQ(CountOf(draw(SeriesStyle::kDashedLine), "stroke-dasharray"), 1);
}

TEST(Plot, SeriesOfOneColorShareItAndOthersDoNot) {
  Plot plot = Sample();
  EXPECT_EQ(CountOf(DrawSvg(plot), "<g class=\"c0\""), 4);
  plot.series[1].color.reset();
  const std::string svg = DrawSvg(plot);
  EXPECT_EQ(CountOf(svg, "<g class=\"c0\""), 2);
  EXPECT_EQ(CountOf(svg, "<g class=\"c1\""), 2);
}

TEST(Plot, WhatCannotBeDrawnIsLeftOutAndBreaksTheLine) {
  const double nan = std::nan("");
  const std::string svg =
      DrawSvg(OneSeries({{0, 1}, {1, 2}, {2, nan}, {3, 4}, {kInfinity, 5}, {5, -kInfinity}}));
  EXPECT_EQ(CountOf(svg, "<title>"), 3);
  ASSERT_EQ(DataLines(svg).size(), 1U);
  EXPECT_EQ(CountOf(DataLines(svg)[0], "M"), 2);
  EXPECT_EQ(CountOf(DataLines(svg)[0], "L"), 1);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Plot, ALogarithmicAxisLeavesOutZero) {
  Plot plot = OneSeries({{0, 1}, {2, 2}, {4, 0}});
  plot.x_scale = Scale::kLog2;
  EXPECT_EQ(CountOf(DrawSvg(plot), "<title>"), 2);
  plot.y_scale = Scale::kLog10;
  EXPECT_EQ(CountOf(DrawSvg(plot), "<title>"), 1);
}

TEST(Plot, WithoutPointsItSaysSo) {
  for (const Plot& plot : {Plot{}, OneSeries({}), OneSeries({{kInfinity, 1}})}) {
    const std::string svg = DrawSvg(plot);
    EXPECT_EQ(XmlProblem(svg), "");
    EXPECT_THAT(ElementTexts(svg, "text"), Contains("no data"));
  }
  EXPECT_THAT(ElementTexts(DrawSvg(Sample()), "text"), Not(Contains("no data")));
}

TEST(Plot, TheYAxisBeginsAtZeroOnlyWhenAsked) {
  Plot plot = OneSeries({{1, 100}, {2, 104}});
  EXPECT_THAT(ElementTexts(DrawSvg(plot), "text"), Contains("0"));
  plot.y_range = YRange::kAroundData;
  EXPECT_THAT(ElementTexts(DrawSvg(plot), "text"), Not(Contains("0")));
  EXPECT_THAT(ElementTexts(DrawSvg(plot), "text"), Contains("102.0"));
}

TEST(Plot, AHigherValueIsHigherAndALargerXIsFurtherRight) {
  const std::string line = DataLines(DrawSvg(OneSeries({{1, 10}, {2, 20}})))[0];
  std::smatch at;
  ASSERT_TRUE(std::regex_match(line, at, std::regex("M([0-9.]+) ([0-9.]+)L([0-9.]+) ([0-9.]+)")));
  EXPECT_LT(std::stod(at[1]), std::stod(at[3]));
  EXPECT_GT(std::stod(at[2]), std::stod(at[4]));
}

TEST(Plot, LongNamesMoveTheLegendBelowAndManyMakeTheCanvasTaller) {
  Plot plot = OneSeries({{1, 1}});
  plot.series[0].name = "a name too long to stand beside the data";
  EXPECT_THAT(DrawSvg(plot), HasSubstr("viewBox=\"0 0 720 420\""));
  const auto text_y = [](const std::string& svg, const std::string& text) {
    std::smatch at;
    const std::regex pattern(StrCat("<text x=\"[^\"]*\" y=\"([^\"]*)\"[^>]*>", text, "</text>"));
    return std::regex_search(svg, at, pattern) ? std::stod(at[1]) : -1;
  };
  const std::string long_svg = DrawSvg(plot);
  EXPECT_GT(text_y(long_svg, plot.series[0].name), text_y(long_svg, "x"));
  plot.series.resize(40, plot.series[0]);
  const std::string many = DrawSvg(plot);
  std::smatch height;
  ASSERT_TRUE(std::regex_search(many, height, std::regex("viewBox=\"0 0 720 ([0-9]+)\"")));
  EXPECT_GT(std::stod(height[1]), 500);
  EXPECT_EQ(CountOf(many, "class=\"legend\""), 40);
}

// One unit is about a pixel of a phone: nothing smaller than 12 and no label on another.
TEST(Plot, ANarrowOneIsForAPhone) {
  Plot plot = Sample();
  plot.is_narrow = true;
  plot.series[0].name = std::string(100, 'n');
  plot.series[0].points.emplace_back(1 << 20, 100);
  const std::string svg = DrawSvg(plot);
  EXPECT_EQ(XmlProblem(svg), "");
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 320 "));
  static const std::regex kSize("font-size=\"([0-9.]+)\"");
  for (std::sregex_iterator at(svg.begin(), svg.end(), kSize), end; at != end; ++at) {
    EXPECT_GE(std::stod((*at)[1]), 12);
  }
  static const std::regex kMiddle("<text x=\"([0-9.]+)\" y=\"([0-9.]+)\" text-anchor=\"middle\"");
  double last_x = -100;
  double last_y = 0;
  for (std::sregex_iterator at(svg.begin(), svg.end(), kMiddle), end; at != end; ++at) {
    const double x = std::stod((*at)[1]);
    const double y = std::stod((*at)[2]);
    if (y == last_y) {
      EXPECT_GT(x - last_x, 36) << "labels lie on each other";
    }
    last_x = x;
    last_y = y;
    EXPECT_LE(x, 320);
  }
}

TEST(Plot, TextsTooLongForTheCanvasAreCutAndKeptAsTooltip) {
  Plot plot = OneSeries({{1, 1}});
  plot.title = std::string(300, 'w');
  plot.x_label = plot.y_label = std::string(300, 'v');
  const std::string svg = DrawSvg(plot);
  EXPECT_THAT(ElementTexts(svg, "text"), Not(Contains(plot.title)));
  EXPECT_THAT(ElementTexts(svg, "text"), Not(Contains(plot.x_label)));
  EXPECT_THAT(ElementTexts(svg, "title"), Contains(plot.title));
}

double AnyValue() {
  return *rc::gen::inRange(-999, 1000) *
         std::pow(10.0, *rc::gen::element(0, 1, 5, 9, 297, 305, 310, -3, -9, -300, -320));
}

RC_GTEST_PROP(PlotProperty, AnyPlotIsWellFormedAndItsMarkersLieOnTheCanvas, ()) {
  Plot plot{.title = "t"};
  plot.x_scale = *rc::gen::element(Scale::kLinear, Scale::kLog2, Scale::kLog10);
  plot.y_scale = *rc::gen::element(Scale::kLinear, Scale::kLog2, Scale::kLog10);
  plot.y_range = *rc::gen::element(YRange::kFromZero, YRange::kAroundData);
  plot.series.resize(*rc::gen::inRange<size_t>(0, 4));
  for (Series& series : plot.series) {
    series.name = std::string(*rc::gen::inRange<size_t>(0, 40), 'n');
    series.points.resize(*rc::gen::inRange<size_t>(0, 5));
    for (auto& point : series.points) point = {AnyValue(), AnyValue()};
  }
  const std::string svg = DrawSvg(plot);
  RC_ASSERT(XmlProblem(svg).empty());
  static const std::regex kMarker("translate\\((-?[0-9.a-z]+) (-?[0-9.a-z]+)\\)");
  for (std::sregex_iterator at(svg.begin(), svg.end(), kMarker), end; at != end; ++at) {
    const double x = std::strtod((*at)[1].str().c_str(), nullptr);
    const double y = std::strtod((*at)[2].str().c_str(), nullptr);
    RC_ASSERT(x >= 0 && x <= 720 && y >= 0 && y <= 420);
  }
}

}  // namespace
}  // namespace horizon

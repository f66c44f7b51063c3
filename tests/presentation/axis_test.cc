#include "presentation/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "presentation/text_width.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;

constexpr AxisRequest kWide{.scale = Scale::kLinear,
                            .range = AxisRange::kZeroToTicks,
                            .direction = AxisDirection::kHorizontal,
                            .length = 560,
                            .font_size = 12};

AxisRequest Wide(Scale scale, AxisRange range) {
  AxisRequest request = kWide;
  request.scale = scale;
  request.range = range;
  return request;
}

std::vector<std::string> Labels(const AxisRequest& request, std::vector<double> values) {
  std::vector<std::string> labels;
  for (const Tick& tick : LayOutAxis(request, values).ticks) labels.push_back(tick.label);
  return labels;
}

TEST(Axis, LinearTicksStepByOneTwoOrFive) {
  EXPECT_THAT(Labels(kWide, {7}), ElementsAre("0", "1", "2", "3", "4", "5", "6", "7"));
  EXPECT_THAT(Labels(kWide, {128.5, 40}),
              ElementsAre("0", "20", "40", "60", "80", "100", "120", "140"));
  EXPECT_THAT(Labels(kWide, {0.31}),
              ElementsAre("0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30", "0.35"));
  EXPECT_THAT(Labels(kWide, {-31.2, 12.5}),
              ElementsAre("-40", "-30", "-20", "-10", "0", "10", "20"));
  EXPECT_THAT(Labels(kWide, {-290}),
              ElementsAre("-300", "-250", "-200", "-150", "-100", "-50", "0"));
  EXPECT_THAT(Labels(kWide, {-1500, -7000}), ElementsAre("-7,000", "-6,000", "-5,000", "-4,000",
                                                         "-3,000", "-2,000", "-1,000", "0"));
}

TEST(Axis, PositionsAreWhereTheValuesLie) {
  const Axis axis = LayOutAxis(kWide, std::vector<double>{128.5});
  EXPECT_DOUBLE_EQ(axis.Position(0), 0);
  EXPECT_DOUBLE_EQ(axis.Position(140), 1);
  EXPECT_DOUBLE_EQ(axis.Position(35), 0.25);
  EXPECT_DOUBLE_EQ(axis.ticks[1].position, 1.0 / 7);
}

TEST(Axis, FewerTicksWhereThereIsLessRoom) {
  AxisRequest request = kWide;
  request.length = 60;
  EXPECT_THAT(Labels(request, {128.5}), ElementsAre("0", "200"));
  request.direction = AxisDirection::kVertical;
  EXPECT_THAT(Labels(request, {128.5}), ElementsAre("0", "100", "200"));
}

TEST(Axis, CountsHaveNoTicksBetweenWholeNumbers) {
  const AxisRequest data = Wide(Scale::kLinear, AxisRange::kData);
  EXPECT_THAT(Labels(data, {1, 2, 3}), ElementsAre("1", "2", "3"));
  EXPECT_THAT(Labels(data, {1, 2, 2.5}),
              ElementsAre("1.0", "1.2", "1.4", "1.6", "1.8", "2.0", "2.2", "2.4"));
  EXPECT_THAT(Labels(data, {5}), ElementsAre("5"));
}

TEST(Axis, PowersOfTwo) {
  const AxisRequest log2 = Wide(Scale::kLog2, AxisRange::kData);
  EXPECT_THAT(Labels(log2, {1024, 8192}), ElementsAre("1,024", "2,048", "4,096", "8,192"));
  EXPECT_THAT(Labels(log2, {0.25, 2}), ElementsAre("0.25", "0.5", "1", "2"));
  EXPECT_THAT(Labels(log2, {0x1p30, 0x1p32}), ElementsAre("2³⁰", "2³¹", "2³²"));
  const Axis axis = LayOutAxis(log2, std::vector<double>{1024.0, 4096.0});
  EXPECT_NEAR(axis.Position(2048), 0.5, 1e-12);
}

TEST(Axis, PowersOfTenAndTheirParts) {
  EXPECT_THAT(
      Labels(Wide(Scale::kLog10, AxisRange::kDataToTicks), {0.002, 1e7}),
      ElementsAre("10⁻³", "10⁻²", "10⁻¹", "10⁰", "10¹", "10²", "10³", "10⁴", "10⁵", "10⁶", "10⁷"));
  EXPECT_THAT(Labels(Wide(Scale::kLog10, AxisRange::kDataToTicks), {0.1, 10}),
              ElementsAre("0.1", "0.2", "0.5", "1", "2", "5", "10"));
  EXPECT_THAT(Labels(Wide(Scale::kLog10, AxisRange::kData), {8e9, 1.1e11}),
              ElementsAre("10¹⁰", "2×10¹⁰", "5×10¹⁰", "10¹¹"));
}

TEST(Axis, ALogarithmicRangeBetweenTwoPowersHasLinearSteps) {
  EXPECT_THAT(Labels(Wide(Scale::kLog2, AxisRange::kData), {1100, 1900}),
              ElementsAre("1,200", "1,400", "1,600", "1,800"));
}

TEST(Axis, LargeAndSmallNumbersMoveTheirPowerIntoTheTitle) {
  const Axis large = LayOutAxis(kWide, std::vector<double>{7.6e9});
  EXPECT_EQ(AxisTitle(large, "parameters"), "parameters (×10⁹)");
  EXPECT_EQ(large.ticks.back().label, "8");
  const Axis small = LayOutAxis(kWide, std::vector<double>{3e-5});
  EXPECT_EQ(AxisTitle(small, ""), "×10⁻⁶");
  EXPECT_EQ(small.ticks.back().label, "30");
  EXPECT_EQ(AxisTitle(LayOutAxis(kWide, std::vector<double>{700000.0}), "x"), "x");
}

TEST(Axis, NothingToShowAndEqualValuesStillMakeAnAxis) {
  EXPECT_THAT(Labels(kWide, {}), ElementsAre("0.0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(Labels(kWide, {0, 0}), ElementsAre("0", "1"));
  const Axis axis =
      LayOutAxis(Wide(Scale::kLinear, AxisRange::kDataToTicks), std::vector<double>{5.0, 5.0, 5.0});
  EXPECT_LT(axis.low, 5);
  EXPECT_GT(axis.high, 5);
}

TEST(Axis, WhatCannotBeDrawnDoesNotMoveTheAxis) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Labels(kWide, {7, inf, -inf, std::nan(""), 1e301}), Labels(kWide, {7}));
  EXPECT_EQ(Labels(Wide(Scale::kLog2, AxisRange::kData), {2, 8, 0, -4}),
            Labels(Wide(Scale::kLog2, AxisRange::kData), {2, 8}));
  EXPECT_TRUE(IsDrawable(Scale::kLinear, -1e300));
  EXPECT_TRUE(IsDrawable(Scale::kLinear, 0));
  EXPECT_FALSE(IsDrawable(Scale::kLog10, 0));
  EXPECT_TRUE(IsDrawable(Scale::kLog10, 1e-300));
}

double AnyValue() {
  const double mantissa = *rc::gen::inRange(-999, 1000) / 100.0;
  return mantissa * std::pow(10.0, *rc::gen::element(0, 0, 1, 2, 3, 6, 9, 12, 299, -3, -9, -299));
}

RC_GTEST_PROP(AxisProperty, TicksAreDistinctInsideAndDoNotTouch, ()) {
  const AxisRequest request{
      .scale = *rc::gen::element(Scale::kLinear, Scale::kLog2, Scale::kLog10),
      .range =
          *rc::gen::element(AxisRange::kData, AxisRange::kDataToTicks, AxisRange::kZeroToTicks),
      .direction = *rc::gen::element(AxisDirection::kHorizontal, AxisDirection::kVertical),
      .length = static_cast<double>(*rc::gen::inRange(150, 700)),
      .font_size = 12};
  std::vector<double> values(*rc::gen::inRange<size_t>(0, 5));
  for (double& value : values) value = AnyValue();
  const Axis axis = LayOutAxis(request, values);
  RC_ASSERT(std::isfinite(axis.low) && std::isfinite(axis.high) && axis.low < axis.high);
  for (const double value : values) {
    if (!IsDrawable(request.scale, value)) continue;
    RC_ASSERT(axis.Position(value) > -1e-6 && axis.Position(value) < 1 + 1e-6);
  }
  RC_ASSERT(!axis.ticks.empty() && axis.ticks.size() < 40);
  std::set<std::string> labels;
  double free_from = -1e9;
  for (const Tick& tick : axis.ticks) {
    RC_ASSERT(tick.position > -1e-5 && tick.position < 1 + 1e-5);
    RC_ASSERT(labels.insert(tick.label).second);
    const double half = request.direction == AxisDirection::kHorizontal
                            ? TextWidth(tick.label, request.font_size) / 2
                            : request.font_size / 2;
    RC_ASSERT(tick.position * request.length - half > free_from);
    free_from = tick.position * request.length + half;
  }
}

}  // namespace
}  // namespace horizon

#include "report/terminal/text_charts.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace horizon {
namespace {

constexpr FrameStyle kBlocks{.utf8 = true};
constexpr FrameStyle kPlain;
const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();
using Rows = std::vector<std::string>;

TEST(BarText, IsFilledToItsShare) {
  EXPECT_EQ(BarText(0, -1, 4, kBlocks), "░░░░");
  EXPECT_EQ(BarText(0.5, -1, 4, kBlocks), "██░░");
  EXPECT_EQ(BarText(0.625, -1, 4, kBlocks), "██▌░");
  EXPECT_EQ(BarText(1, -1, 4, kBlocks), "████");
  EXPECT_EQ(BarText(7, -1, 4, kBlocks), "████");
  EXPECT_EQ(BarText(0.625, -1, 4, kPlain), "##-.");
}

TEST(BarText, AMarkStandsWhereTheBarHasNotReachedIt) {
  EXPECT_EQ(BarText(0.25, 0.5, 4, kBlocks), "█░│░");
  EXPECT_EQ(BarText(0.25, 1, 4, kPlain), "#..|");
  EXPECT_EQ(BarText(1, 0.5, 4, kPlain), "####");
}

TEST(BarText, WhatIsNoShareIsEmpty) {
  EXPECT_EQ(BarText(kNan, -1, 3, kPlain), "...");
  EXPECT_EQ(BarText(-1, kNan, 3, kPlain), "|..");
  EXPECT_EQ(BarText(kInfinity, kInfinity, 3, kPlain), "###");
}

TEST(StripText, LittleIsNotNothing) {
  EXPECT_EQ(StripText({0, 0.001, 0.5, 0.99, 1, kNan}, kBlocks), " ▁▄██ ");
  EXPECT_EQ(StripText({0, 0.001, 0.5, 1}, kPlain), " .:#");
}

TEST(CurveText, GoesFromTheLowestToTheHighest) {
  EXPECT_EQ(CurveText({0, 1, 2, 3, 4, 5, 6, 7, 8}, 0, 8, 9, 1, kBlocks), Rows{"▁▁▂▃▄▅▆▇█"});
  EXPECT_EQ(CurveText({0, 8, 16}, 0, 16, 3, 2, kBlocks), (Rows{"  █", "▁██"}));
  EXPECT_EQ(CurveText({0, 8, 16}, 0, 16, 3, 2, kPlain), (Rows{"  #", ".##"}));
}

TEST(CurveText, ColumnsShowMeansOfManyValuesAndFewAreSpread) {
  EXPECT_EQ(CurveText({0, 8, 8, 8}, 0, 8, 2, 1, kBlocks), Rows{"▄█"});
  EXPECT_EQ(CurveText({8, 0}, 0, 8, 4, 1, kBlocks), Rows{"██▁▁"});
  EXPECT_EQ(CurveText({3}, 3, 3, 4, 1, kBlocks), Rows{"▁▁▁▁"});
}

TEST(CurveText, WhatIsNotFiniteLeavesAGap) {
  EXPECT_EQ(CurveText({8, kNan, kInfinity, 8}, 0, 8, 4, 1, kBlocks), Rows{"█  █"});
  EXPECT_EQ(CurveText({}, 0, 1, 3, 2, kBlocks), (Rows{"   ", "   "}));
}

TEST(StyledLine, IsCutAtTheColumnsAndNotInsideALetter) {
  const StyledLine line = StyledLine("grün").Add("er").Add("  ");
  EXPECT_EQ(line.width(), 8);
  EXPECT_EQ(line.Text(kBlocks, 3), "grü");
  EXPECT_EQ(line.Text(kBlocks, 0), "grüner");
  EXPECT_EQ(line.Text(kPlain, 5), "gr?ne");
}

TEST(StyledLine, WideLettersTakeTwoColumns) {
  const FrameStyle utf8{.utf8 = true};
  EXPECT_EQ(StyledLine("模型").width(), 4);
  EXPECT_EQ(StyledLine("模型").PadTo(6).Add("x").Text(utf8, 0), "模型  x");
  EXPECT_EQ(StyledLine("模型").Add("x").Text(utf8, 3), "模");  // nothing follows what was cut
  EXPECT_EQ(StyledLine("模型").Add("x").Text({}, 0), "????x");
}

TEST(StyledLine, ForeignTextDoesNotMoveTheCursor) {
  EXPECT_EQ(StyledLine("a\x1b[2Jb\n\x7f\xff\xc2\x9b"
                       "c")
                .Text(kBlocks, 0),
            "a?[2Jb????c");
}

TEST(StyledLine, ColoursAreSequencesAroundThePiece) {
  StyledLine line("a");
  line.Add("b", Tone::kBad).PadTo(5).Add("c");
  EXPECT_EQ(line.Text({.colour = true}, 0), "a\x1b[31mb\x1b[0m   c");
  EXPECT_EQ(line.Text({.colour = true}, 2), "a\x1b[31mb\x1b[0m");
  EXPECT_EQ(line.Text({.colour = true}, 1), "a");
  EXPECT_EQ(line.Text(kPlain, 0), "ab   c");
}

TEST(StyledLine, PaddingLeavesAtLeastOneSpace) {
  EXPECT_EQ(StyledLine("long").PadTo(2).Add("x").Text(kPlain, 0), "long x");
  EXPECT_EQ(StyledLine().PadTo(2).Add("x").Text(kPlain, 0), "  x");
  EXPECT_EQ(StyledLine().PadTo(0).Add("x").Text(kPlain, 0), "x");
}

}  // namespace
}  // namespace horizon

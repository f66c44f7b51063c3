#include "report/terminal/text_charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace horizon {
namespace {

constexpr int kLevels = 8;
using Letters = std::array<std::string_view, kLevels + 1>;
constexpr Letters kRising = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr Letters kGrowing = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr Letters kPlainRising = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};
constexpr Letters kPlainGrowing = {".", ".", ".", ".", "-", "-", "-", "-", "#"};

std::string_view Letter(const Letters& letters, int level) {
  return letters[static_cast<size_t>(std::clamp(level, 0, kLevels))];
}

// Shares are what files say: neither infinity nor NaN reaches a conversion to int.
int LevelsOf(double share, int most) {
  if (!(share > 0)) return 0;
  return static_cast<int>(std::lround(std::min(share, 1.0) * most));
}

}  // namespace

std::string BarText(double share, double mark, int width, const FrameStyle& style) {
  const int filled = LevelsOf(share, width * kLevels);
  const int marked = mark < 0 ? -1 : std::min(LevelsOf(mark, width), width - 1);
  std::string text;
  for (int column = 0; column < width; ++column) {
    const int level = std::clamp(filled - column * kLevels, 0, kLevels);
    if (column == marked && level < kLevels) {
      text += style.utf8 ? "│" : "|";
    } else if (level == 0) {
      text += style.utf8 ? "░" : ".";
    } else {
      text += Letter(style.utf8 ? kGrowing : kPlainGrowing, level);
    }
  }
  return text;
}

std::string StripText(const std::vector<double>& shares, const FrameStyle& style) {
  std::string text;
  for (const double share : shares) {
    const int level = share > 0 ? std::max(1, LevelsOf(share, kLevels)) : 0;
    text += Letter(style.utf8 ? kRising : kPlainRising, level);
  }
  return text;
}

std::vector<std::string> CurveText(const std::vector<double>& values, double low, double high,
                                   int width, int height, const FrameStyle& style) {
  std::vector<std::string> rows(static_cast<size_t>(height));
  const size_t columns = static_cast<size_t>(width);
  for (size_t column = 0; column < columns; ++column) {
    const size_t begin = column * values.size() / columns;
    const size_t end = std::max(begin + 1, (column + 1) * values.size() / columns);
    double sum = 0;
    size_t count = 0;
    for (size_t i = begin; i < std::min(end, values.size()); ++i) {
      if (!std::isfinite(values[i])) continue;
      sum += values[i];
      ++count;
    }
    int level = 0;
    if (count > 0) {
      const double share = high > low ? (sum / static_cast<double>(count) - low) / (high - low) : 0;
      level = std::max(1, LevelsOf(share, height * kLevels));
    }
    for (int row = 0; row < height; ++row) {
      const int below = (height - 1 - row) * kLevels;
      rows[static_cast<size_t>(row)] += Letter(style.utf8 ? kRising : kPlainRising, level - below);
    }
  }
  return rows;
}

}  // namespace horizon

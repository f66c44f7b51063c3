#include "presentation/text_width.h"

#include <gtest/gtest.h>

namespace horizon {
namespace {

TEST(TextWidth, GrowsWithTextAndFont) {
  EXPECT_EQ(TextWidth("", 12), 0);
  EXPECT_GT(TextWidth("mmm", 12), TextWidth("iii", 12));
  EXPECT_DOUBLE_EQ(TextWidth("abc", 24), 2 * TextWidth("abc", 12));
  EXPECT_LT(TextWidth("é", 12), TextWidth("ab", 12));
  EXPECT_DOUBLE_EQ(TextWidth("漢", 12), 12);
}

TEST(Shortened, KeepsWhatFits) {
  EXPECT_EQ(Shortened("tokens/s", 12, TextWidth("tokens/s", 12)), "tokens/s");
  EXPECT_EQ(Shortened("", 12, 0), "");
}

TEST(Shortened, CutsWhatDoesNotBetweenCharacters) {
  const std::string text = "ééééééééééé";
  for (double width = 0; width < TextWidth(text, 12); width += 3) {
    const std::string shown = Shortened(text, 12, width);
    EXPECT_TRUE(shown.ends_with("…"));
    EXPECT_EQ(shown.size() % 2, 1U) << "half of a two-byte character is left: " << shown;
    if (width >= 12) {
      EXPECT_LE(TextWidth(shown, 12), width);
    }
  }
}

}  // namespace
}  // namespace horizon

#include "common/text/columns.h"

#include <gtest/gtest.h>

#include <string>

namespace horizon {
namespace {

TEST(Columns, AreOneForLettersTwoForWideOnesNoneForMarks) {
  EXPECT_EQ(ColumnsOf(""), 0);
  EXPECT_EQ(ColumnsOf("loss 2.5"), 8);
  EXPECT_EQ(ColumnsOf("é█Ω"), 3);
  EXPECT_EQ(ColumnsOf("模型"), 4);
  EXPECT_EQ(ColumnsOf("ｆｕｌｌ"), 8);
  EXPECT_EQ(ColumnsOf("한국어"), 6);
  EXPECT_EQ(ColumnsOf("🚀"), 2);
  EXPECT_EQ(ColumnsOf("e\u0301"), 1);         // e and a combining accent
  EXPECT_EQ(ColumnsOf("a\u200d\u2060b"), 2);  // joiners
  EXPECT_EQ(ColumnsOf("\xff\xc3"), 2);        // no UTF-8
}

TEST(Columns, ATextIsCutBetweenCharactersOnly) {
  EXPECT_EQ(FirstColumns("abcdef", 4), "abcd");
  EXPECT_EQ(FirstColumns("abc", 4), "abc");
  EXPECT_EQ(FirstColumns("abc", 0), "");
  EXPECT_EQ(FirstColumns("abc", -1), "");
  EXPECT_EQ(FirstColumns("模型", 3), "模");
  EXPECT_EQ(FirstColumns("a模型", 3), "a模");
  EXPECT_EQ(FirstColumns("ae\u0301b", 2), "ae\u0301");
  EXPECT_EQ(FirstColumns("ab\xff", 3), "ab\xff");
}

}  // namespace
}  // namespace horizon

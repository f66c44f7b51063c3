#include "presentation/escape_xml.h"

#include <gtest/gtest.h>

#include <string>

namespace horizon {
namespace {

TEST(EscapeXml, MarkupBecomesEntities) {
  EXPECT_EQ(EscapeXml("<a b=\"c\" d='e'>&amp;"),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;");
}

TEST(EscapeXml, OtherTextIsKept) {
  EXPECT_EQ(EscapeXml("a\tb\r\nc × €😀"), "a\tb\r\nc × €😀");
  EXPECT_EQ(EscapeXml(""), "");
}

TEST(EscapeXml, WhatXmlCannotHoldIsReplaced) {
  EXPECT_EQ(EscapeXml(std::string("\0\x1B", 2)), "\uFFFD\uFFFD");
  EXPECT_EQ(EscapeXml("a\xFF<\xC3"), "a\uFFFD&lt;\uFFFD");
  EXPECT_EQ(EscapeXml("\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBF\xBC"), "\uFFFD\uFFFD\xEF\xBF\xBC");
}

}  // namespace
}  // namespace horizon

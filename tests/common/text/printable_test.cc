#include "common/text/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "common/documents/json.h"

namespace horizon {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  for (const std::string text :
       {"", "run/step-1: whole\n\tand so on", "\u00e4\u4f60\u00a0\U0001F600"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(Printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(Printable("a\rb\bc\x07"), "a\\x0db\\x08c\\x07");
  EXPECT_EQ(Printable(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(Printable("\x7f"), "\\u007f");
  EXPECT_EQ(Printable("\u009b31m"), "\\u009b31m");
}

// A lone 0x9b is a control sequence for terminals that are not in UTF-8.
TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(Printable("\x9b\xff\xc3"), "\\x9b\\xff\\xc3");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
}

TEST(Printable, ShowsNoControlCharacterOfAnyText) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (const char letter : Printable(all)) {
    EXPECT_TRUE((letter >= ' ' && letter < 0x7f) || letter == '\n' || letter == '\t');
  }
}

TEST(Printable, JsonStaysTheSameJson) {
  JsonWriter writer;
  const std::string value = "a\x1b\u009b\x7f\xff\n";
  writer.BeginObject().Key("key").String(value).EndObject();
  const std::string text = std::move(writer).Finish();
  const absl::StatusOr<Document> before = ParseJson("before", text);
  const absl::StatusOr<Document> after = ParseJson("after", Printable(text));
  ASSERT_TRUE(before.ok() && after.ok()) << Printable(text);
  EXPECT_EQ(*before->root.Find("key")->As<std::string>(),
            *after->root.Find("key")->As<std::string>());
}

}  // namespace
}  // namespace horizon

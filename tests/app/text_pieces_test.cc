#include "app/text_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/io.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Cut(const std::string& text, size_t largest) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string path = JoinPath(MakeTestFolder(*io), "text");
  WriteBytes(*io, path, text);
  const absl::StatusOr<std::unique_ptr<File>> file = io->Open(path, OpenMode::kRead);
  EXPECT_TRUE(file.ok()) << file.status();
  TextPieces pieces(**file, largest);
  std::vector<std::string> result;
  while (true) {
    const absl::StatusOr<std::string_view> piece = pieces.Next();
    EXPECT_TRUE(piece.ok()) << piece.status();
    if (!piece.ok() || piece->empty()) return result;
    result.emplace_back(*piece);
  }
}

TEST(TextPieces, EndAtTheLastLineBreakBetweenTwoWords) {
  EXPECT_THAT(Cut("", 8), IsEmpty());
  EXPECT_THAT(Cut("ab\ncd\n", 8), ElementsAre("ab\ncd\n"));
  EXPECT_THAT(Cut("ab\ncd\nefghi", 8), ElementsAre("ab\ncd\n", "efghi"));
  EXPECT_THAT(Cut("ab\ncd\n\nefg", 8), ElementsAre("ab\n", "cd\n\nefg"));
  EXPECT_THAT(Cut("ab\ncd\n efg", 8), ElementsAre("ab\n", "cd\n efg"));
  EXPECT_THAT(Cut("abcd\n\nefghi", 8), ElementsAre("abcd\n\n", "efghi"));
  EXPECT_THAT(Cut("ab\r\ncdefghi", 8), ElementsAre("ab\r\n", "cdefghi"));
}

TEST(TextPieces, EndBetweenCharactersWithoutALineBreak) {
  EXPECT_THAT(Cut("abcdefghij", 8), ElementsAre("abcdefg", "hij"));
  EXPECT_THAT(Cut("abcdef\u4f60xx", 8), ElementsAre("abcdef", "\u4f60xx"));
  EXPECT_THAT(Cut("\U0001F44D\U0001F44D\U0001F44D", 8),
              ElementsAre("\U0001F44D", "\U0001F44D", "\U0001F44D"));
  EXPECT_THAT(Cut(std::string(6, '\x80'), 4), testing::SizeIs(testing::Ge(2)));
}

TEST(TextPieces, AreTogetherTheFile) {
  const std::string unit = "line\n\n  \u00e9\u4f60\r\n\tx\n\xFF\x80\x80\x80\x80 y";
  std::string text;
  for (int i = 0; i < 50; ++i) text += unit;
  for (size_t largest = 4; largest < 80; ++largest) {
    std::string together;
    for (const std::string& piece : Cut(text, largest)) {
      EXPECT_LE(piece.size(), largest);
      together += piece;
    }
    ASSERT_EQ(together, text) << largest;
  }
}

}  // namespace
}  // namespace horizon

#include "common/files/posix_rename.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "common/files/io.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;

// Both ways keep the same promises, except for what a crash in between may leave.
class PosixRenameTest
    : public testing::TestWithParam<int (*)(const std::string&, const std::string&)> {
 protected:
  void SetUp() override {
    folder_ = JoinPath(testing::TempDir(), "posix_rename_test_XXXXXX");
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(std::string_view name) const { return JoinPath(folder_, name); }
  int Rename(std::string_view from, std::string_view to) const {
    return GetParam()(Path(from), Path(to));
  }
  void Put(std::string_view name, std::string_view text) {
    ASSERT_TRUE(WriteTextFile(*io_, Path(name), text).ok());
  }
  std::string Get(std::string_view name) { return ReadTextFile(*io_, Path(name)).value_or("?"); }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_;
};

TEST_P(PosixRenameTest, AFileMovesToAFreeName) {
  Put("a", "text");
  EXPECT_EQ(Rename("a", "b"), 0);
  EXPECT_THAT(*io_->List(folder_), ElementsAre("b"));
  EXPECT_EQ(Get("b"), "text");
}

TEST_P(PosixRenameTest, AnExistingFileIsKept) {
  Put("a", "a");
  Put("b", "b");
  EXPECT_EQ(Rename("a", "b"), EEXIST);
  EXPECT_EQ(Get("a"), "a");
  EXPECT_EQ(Get("b"), "b");
}

TEST_P(PosixRenameTest, ADirectoryMovesWithItsContentToAFreeName) {
  ASSERT_TRUE(io_->MakeDirectory(Path("d")).ok());
  Put("d/x", "text");
  EXPECT_EQ(Rename("d", "e"), 0);
  EXPECT_THAT(*io_->List(folder_), ElementsAre("e"));
  EXPECT_EQ(Get("e/x"), "text");
}

TEST_P(PosixRenameTest, ADirectoryReplacesNeitherDirectoryNorFileNorLink) {
  ASSERT_TRUE(io_->MakeDirectory(Path("d")).ok());
  ASSERT_TRUE(io_->MakeDirectory(Path("empty")).ok());
  ASSERT_TRUE(io_->MakeDirectory(Path("full")).ok());
  Put("full/x", "text");
  Put("file", "text");
  ASSERT_EQ(::symlink("nowhere", Path("link").c_str()), 0);
  for (const char* name : {"empty", "full", "file", "link"}) {
    EXPECT_EQ(Rename("d", name), EEXIST) << name;
  }
  EXPECT_THAT(*io_->List(folder_), ElementsAre("d", "empty", "file", "full", "link"));
}

TEST_P(PosixRenameTest, ALinkIsMovedItselfAndADanglingOneIsInTheWay) {
  ASSERT_EQ(::symlink("nowhere", Path("a").c_str()), 0);
  Put("b", "text");
  EXPECT_EQ(Rename("b", "a"), EEXIST);
  EXPECT_EQ(Rename("a", "c"), 0);
  EXPECT_EQ(std::filesystem::read_symlink(Path("c")), "nowhere");
  EXPECT_THAT(*io_->List(folder_), ElementsAre("b", "c"));
}

TEST_P(PosixRenameTest, AMissingSourceOrFolderIsSaid) {
  Put("b", "text");
  EXPECT_EQ(Rename("missing", "a"), ENOENT);
  EXPECT_EQ(Rename("b", "missing/b"), ENOENT);
  EXPECT_EQ(Get("b"), "text");
}

INSTANTIATE_TEST_SUITE_P(Atomically, PosixRenameTest, testing::Values(&RenameNoReplaceAtomically));
INSTANTIATE_TEST_SUITE_P(ByLink, PosixRenameTest, testing::Values(&RenameNoReplaceByLink));

}  // namespace
}  // namespace horizon

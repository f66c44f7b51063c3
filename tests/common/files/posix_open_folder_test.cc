#include "common/files/posix_open_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/files/io.h"

namespace horizon {
namespace {

class OpenFolderTest : public testing::Test {
 protected:
  OpenFolderTest() {
    std::filesystem::remove_all(path_);
    std::filesystem::remove_all(other_);
    std::filesystem::create_directories(path_);
  }
  OpenFolder Open() { return *OpenFolder::Open(path_); }

  const std::string path_ = testing::TempDir() + "folder";
  const std::string other_ = testing::TempDir() + "other";
};

TEST_F(OpenFolderTest, IsWhereItWasOpened) {
  const OpenFolder folder = Open();
  EXPECT_TRUE(folder.IsAtItsPath());
  EXPECT_EQ(folder.path(), path_);
  EXPECT_EQ(folder.CurrentPath(), std::filesystem::canonical(path_).string());
}

TEST_F(OpenFolderTest, AMovedOneIsFoundWhereItIsNow) {
  const OpenFolder folder = Open();
  std::filesystem::rename(path_, other_);
  EXPECT_FALSE(folder.IsAtItsPath());
  EXPECT_EQ(folder.CurrentPath(), std::filesystem::canonical(other_).string());
}

TEST_F(OpenFolderTest, AnotherOneOfTheSameNameIsNotIt) {
  const OpenFolder folder = Open();
  std::filesystem::rename(path_, other_);
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(folder.IsAtItsPath());
}

TEST_F(OpenFolderTest, ADeletedOneIsNowhereEvenIfAFolderHasTheNameTheKernelGivesIt) {
  const OpenFolder folder = Open();
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_ + " (deleted)");
  EXPECT_FALSE(folder.IsAtItsPath());
  EXPECT_EQ(folder.CurrentPath(), std::nullopt);
  std::filesystem::remove(path_ + " (deleted)");
}

TEST_F(OpenFolderTest, AFileInItsPlaceIsNotIt) {
  const OpenFolder folder = Open();
  std::filesystem::remove(path_);
  EXPECT_TRUE(WriteTextFile(*MakePosixIo(), path_, "x").ok());
  EXPECT_FALSE(folder.IsAtItsPath());
  EXPECT_FALSE(OpenFolder::Open(path_).ok());
}

TEST_F(OpenFolderTest, OneThatIsMissingIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(OpenFolder::Open(other_).status()));
}

TEST_F(OpenFolderTest, StaysOpenWhenItIsMoved) {
  OpenFolder folder = Open();
  const OpenFolder moved = std::move(folder);
  EXPECT_TRUE(moved.IsAtItsPath());
}

}  // namespace
}  // namespace horizon

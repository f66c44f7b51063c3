#include "training/run_folder/check_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

#include "tests/model/test_files.h"

namespace horizon {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class CheckFolderTest : public testing::Test {
 protected:
  CheckFolderTest() {
    EXPECT_TRUE(io_->MakeDirectory(folder_).ok());
    WriteBytes(*io_, folder_ + "/job.json", "{}");
  }
  std::string Found(const OpenFolder& open) {
    const absl::Status status = CheckRunFolder(*io_, open);
    if (status.ok()) return "there";
    EXPECT_EQ(IoErrno(status), ESTALE);
    EXPECT_FALSE(absl::IsNotFound(status));  // that would be the user's mistake
    return std::string(status.message());
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  const std::string folder_ = JoinPath(MakeTestFolder(*io_), "run");
};

TEST_F(CheckFolderTest, SaysWhatHappenedToTheFolder) {
  const OpenFolder open = *OpenFolder::Open(folder_);
  EXPECT_EQ(Found(open), "there");
  ASSERT_TRUE(io_->Rename(folder_, folder_ + "-2").ok());
  EXPECT_THAT(Found(open), HasSubstr("run-2 while the run went on"));
  EXPECT_THAT(Found(open), HasSubstr("was moved to /"));
  // Another one in its place.
  ASSERT_TRUE(io_->MakeDirectory(folder_).ok());
  WriteBytes(*io_, folder_ + "/job.json", "{}");
  EXPECT_THAT(Found(open), HasSubstr("was moved to /"));
  ASSERT_TRUE(io_->Unlink(folder_ + "-2/job.json").ok());
  ASSERT_TRUE(io_->RemoveDirectory(folder_ + "-2").ok());
  EXPECT_THAT(Found(open), EndsWith("run was deleted while the run went on"));
}

TEST_F(CheckFolderTest, AFolderThatOnlyLostItsFilesIsLostToo) {
  const OpenFolder open = *OpenFolder::Open(folder_);
  ASSERT_TRUE(io_->Unlink(folder_ + "/job.json").ok());
  EXPECT_THAT(Found(open), HasSubstr("was emptied"));
}

}  // namespace
}  // namespace horizon

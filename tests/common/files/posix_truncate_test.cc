#include "common/files/posix_truncate.h"

#include <gtest/gtest.h>

#include <string>

#include "common/files/io.h"

namespace horizon {
namespace {

TEST(TruncateFile, CutsWhatIsLongerAndLeavesWhatIsNot) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string path = testing::TempDir() + "cut";
  ASSERT_TRUE(WriteTextFile(*io, path, "0123456789").ok());
  for (const auto& [size, text] : std::vector<std::pair<uint64_t, std::string>>{
           {11, "0123456789"}, {10, "0123456789"}, {4, "0123"}, {9, "0123"}, {0, ""}}) {
    EXPECT_TRUE(TruncateFile(path, size).ok());
    EXPECT_EQ(*ReadTextFile(*io, path), text) << size;
  }
}

TEST(TruncateFile, AMissingFileIsNotFoundAndNotMade) {
  const std::string path = testing::TempDir() + "missing";
  const absl::Status status = TruncateFile(path, 3);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_TRUE(absl::IsNotFound(MakePosixIo()->Info(path).status()));
}

}  // namespace
}  // namespace horizon

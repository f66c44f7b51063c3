#include "runtime/data/records/find_data_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "common/files/io.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FindDataFilesTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return JoinPath(folder_, name); }
  void Write(const std::string& name, const std::string& text = "{\"text\": \"a b\"}\n") {
    for (size_t slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
      io_->MakeDirectory(Path(name.substr(0, slash))).IgnoreError();
    }
    WriteBytes(*io_, Path(name), text);
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
};

TEST_F(FindDataFilesTest, AFileIsItselfWhateverItsName) {
  Write(".hidden.xyz");
  const absl::StatusOr<FoundDataFiles> found = FindDataFiles(*io_, Path(".hidden.xyz"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->files, ElementsAre(Path(".hidden.xyz")));
  EXPECT_THAT(found->skipped, IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(FindDataFiles(*io_, Path("none.jsonl")).status()));
}

TEST_F(FindDataFilesTest, AFolderIsItsDataFilesInTheOrderOfTheirPaths) {
  for (const char* name : {"b.jsonl", "a/z.txt", "a/deep/x.MD", "a.json", "c.ndjson", "a/m.py",
                           ".gitattributes", ".cache/x.jsonl", "picture"}) {
    Write(name);
  }
  const absl::StatusOr<FoundDataFiles> found = FindDataFiles(*io_, folder_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->files, ElementsAre(Path("a.json"), Path("a/deep/x.MD"), Path("a/z.txt"),
                                        Path("b.jsonl"), Path("c.ndjson")));
  EXPECT_THAT(found->skipped,
              ElementsAre(Path(".cache"), Path(".gitattributes"), Path("a/m.py"), Path("picture")));
}

// As a hub's cache has them.
TEST_F(FindDataFilesTest, LinksAreFollowedButNotInACircle) {
  Write("blobs/1.jsonl");
  Write("snapshot/readme.txt");
  ASSERT_EQ(symlink("../blobs/1.jsonl", Path("snapshot/train.jsonl").c_str()), 0);
  absl::StatusOr<FoundDataFiles> found = FindDataFiles(*io_, Path("snapshot"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->files, ElementsAre(Path("snapshot/readme.txt"), Path("snapshot/train.jsonl")));
  ASSERT_EQ(symlink("..", Path("snapshot/up").c_str()), 0);
  found = FindDataFiles(*io_, Path("snapshot"));
  EXPECT_TRUE(absl::IsInvalidArgument(found.status())) << found.status();
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("link"));
}

TEST_F(FindDataFilesTest, DataThatMustBeConvertedIsNotMissedSilently) {
  Write("a.jsonl");
  Write("data/train.parquet", "PAR1");
  absl::Status status = FindDataFiles(*io_, folder_).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("train.parquet"), HasSubstr("read_parquet")));
  ASSERT_TRUE(io_->Unlink(Path("data/train.parquet")).ok());
  Write("data/more.jsonl.gz", "\x1f\x8b\x08");
  status = FindDataFiles(*io_, folder_).status();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("more.jsonl.gz"), HasSubstr("decompress")));
}

TEST_F(FindDataFilesTest, AFolderWithoutDataIsRefused) {
  Write("notes.doc");
  const absl::Status status = FindDataFiles(*io_, folder_).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("holds no data"));
}

}  // namespace
}  // namespace horizon

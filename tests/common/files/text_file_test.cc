// ReadTextFile and WriteTextFile of common/files/io.h, with every call they make failing in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "common/files/faulting_io.h"
#include "common/files/io.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TextFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = JoinPath(testing::TempDir(), "text_file_test_XXXXXX");
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = JoinPath(folder_, "text");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Text() { return ReadTextFile(*io_, path_).value_or("unreadable"); }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_;
  std::string path_;
};

TEST_F(TextFileTest, WhatIsWrittenIsRead) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{4097},
                            size_t{4098}, size_t{100'000}}) {
    std::string text(size, 'x');
    if (size > 0) text.back() = '\0';
    ASSERT_TRUE(WriteTextFile(*io_, path_, text).ok());
    EXPECT_EQ(Text(), text) << size;
    EXPECT_THAT(*io_->List(folder_), ElementsAre("text"));
  }
}

TEST_F(TextFileTest, TheLimitIsTheLargestSizeAccepted) {
  for (const size_t limit : {size_t{0}, size_t{7}, size_t{5000}}) {
    ASSERT_TRUE(WriteTextFile(*io_, path_, std::string(limit, 'x')).ok());
    EXPECT_TRUE(ReadTextFile(*io_, path_, Bytes(CheckedU64(limit))).ok()) << limit;
    ASSERT_TRUE(WriteTextFile(*io_, path_, std::string(limit + 1, 'x')).ok());
    const auto text = ReadTextFile(*io_, path_, Bytes(CheckedU64(limit)));
    EXPECT_TRUE(absl::IsInvalidArgument(text.status())) << text.status();
    EXPECT_THAT(std::string(text.status().message()), HasSubstr(path_));
  }
}

TEST_F(TextFileTest, AHugeSparseFileIsRefusedWithoutReading) {
  const auto file = io_->Open(path_, OpenMode::kCreateNew);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->WriteAt(uint64_t{1} << 36, std::as_bytes(std::span("x", 1))).ok());
  FaultingIo counting(*io_, {});
  EXPECT_TRUE(absl::IsInvalidArgument(ReadTextFile(counting, path_).status()));
  EXPECT_THAT(counting.history(), ElementsAre("Open " + path_, "File::Info " + path_));
}

TEST_F(TextFileTest, FilesThatStateNoSizeAreReadWholeAndLimited) {
  ASSERT_EQ(io_->Info("/proc/self/status")->size, 0_B);
  const auto text = ReadTextFile(*io_, "/proc/self/status");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("VmSize"));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadTextFile(*io_, "/proc/self/status", 10_B).status()));
}

TEST_F(TextFileTest, AFileThatShrinksMeanwhileIsDataLossNotAShortText) {
  ASSERT_TRUE(WriteTextFile(*io_, path_, "{\"a\": 1, \"b\": 2}").ok());
  int shrunk = 0;
  ForEachFault(*io_, {.kind = FaultPlan::Kind::kShrink}, [&](FaultingIo& io) {
    const auto text = ReadTextFile(io, path_, 16_B);
    if (text.ok()) {
      EXPECT_EQ(*text, "{\"a\": 1, \"b\": 2}");
    } else {
      EXPECT_TRUE(absl::IsDataLoss(text.status())) << text.status();
      ++shrunk;
    }
  });
  EXPECT_GT(shrunk, 0);
}

TEST_F(TextFileTest, EveryFailedCallOfAReadIsReported) {
  ASSERT_TRUE(WriteTextFile(*io_, path_, "text").ok());
  for (const auto kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    const uint64_t hits = ForEachFault(*io_, {.kind = kind, .error_number = EIO}, [&](auto& io) {
      const auto text = ReadTextFile(io, path_);
      if (io.reached()) {
        EXPECT_EQ(IoErrno(text.status()), EIO) << text.status();
      } else {
        EXPECT_EQ(*text, "text");
      }
    });
    // Open, Info, ReadAt, Close; each once and from there on.
    EXPECT_EQ(hits, 8u);
  }
}

TEST_F(TextFileTest, AWriteThatFailsAnywhereLeavesTheOldTextOrTheNew) {
  for (const auto kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    for (const int error_number : {EIO, ENOSPC, EDQUOT, EMFILE, EINTR}) {
      const FaultPlan plan{.kind = kind, .error_number = error_number};
      const uint64_t hits = ForEachFault(*io_, plan, [&](FaultingIo& io) {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directory(folder_);
        ASSERT_TRUE(WriteTextFile(*io_, path_, "the old text").ok());
        const absl::Status status = WriteTextFile(io, path_, "the new text");
        EXPECT_EQ(status.ok(), !io.reached()) << status;
        if (status.ok()) {
          EXPECT_EQ(Text(), "the new text");
        } else {
          EXPECT_EQ(IoErrno(status), error_number) << status;
        }
        const std::string last = io.history().back();
        // Only a failed SyncDirectory comes after the commit.
        const bool committed = last.starts_with("SyncDirectory");
        EXPECT_EQ(Text(), committed ? "the new text" : "the old text") << last;
        const auto names = io_->List(folder_);
        if (names->size() != 1) {
          // The remover itself failed: then the message names what stays.
          EXPECT_TRUE(last.starts_with("Unlink")) << last;
          ASSERT_EQ(names->size(), 2u);
          EXPECT_THAT(std::string(status.message()), HasSubstr((*names)[1]));
        }
      });
      // Info, Open, WriteAt, Sync, Close, Rename, SyncDirectory; each once and from there on.
      EXPECT_EQ(hits, 14u);
    }
  }
}

TEST_F(TextFileTest, AFirstWriteThatFailsLeavesNoFile) {
  ForEachFault(*io_, {.kind = FaultPlan::Kind::kShort, .error_number = ENOSPC}, [&](auto& io) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    const absl::Status status = WriteTextFile(io, path_, "text");
    EXPECT_EQ(status.ok(), !io.reached());
    if (!io.history().back().starts_with("SyncDirectory")) {
      EXPECT_TRUE(absl::IsNotFound(io_->Info(path_).status()));
    }
  });
}

TEST_F(TextFileTest, TheBytesAreSyncedBeforeTheNameAndTheNameAfter) {
  FaultingIo io(*io_, {});
  ASSERT_TRUE(WriteTextFile(io, path_, "text").ok());
  std::vector<std::string> verbs;
  for (const std::string& call : io.history()) verbs.push_back(call.substr(0, call.find(' ')));
  EXPECT_THAT(verbs,
              ElementsAre("Info", "Open", "WriteAt", "Sync", "Close", "Rename", "SyncDirectory"));
  EXPECT_EQ(io.history().back(), "SyncDirectory " + folder_);
}

TEST_F(TextFileTest, TemporaryNamesLeftByOthersAreSteppedOver) {
  const std::string prefix = path_ + ".tmp-" + std::to_string(::getpid()) + "-";
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(io_->Open(prefix + std::to_string(i), OpenMode::kCreateNew).ok());
  }
  ASSERT_TRUE(WriteTextFile(*io_, path_, "text").ok());
  EXPECT_EQ(Text(), "text");
  EXPECT_EQ(io_->List(folder_)->size(), 4u);
  // When none is free it gives up with the reason.
  for (int i = 3; i < 100; ++i) {
    ASSERT_TRUE(io_->Open(prefix + std::to_string(i), OpenMode::kCreateNew).ok());
  }
  EXPECT_TRUE(absl::IsAlreadyExists(WriteTextFile(*io_, path_, "new")));
  EXPECT_EQ(Text(), "text");
}

TEST_F(TextFileTest, DirectoriesAndPipesAreNotReplaced) {
  ASSERT_TRUE(io_->MakeDirectory(path_).ok());
  const std::string fifo = JoinPath(folder_, "fifo");
  const std::string link = JoinPath(folder_, "link");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(::symlink("fifo", link.c_str()), 0);
  for (const std::string& path : {path_, fifo, link}) {
    EXPECT_TRUE(absl::IsInvalidArgument(WriteTextFile(*io_, path, "text"))) << path;
  }
  EXPECT_THAT(*io_->List(folder_), ElementsAre("fifo", "link", "text"));
  EXPECT_EQ(io_->Info(fifo)->kind, FileKind::kOther);
}

TEST_F(TextFileTest, ALinkIsReplacedAndItsTargetKept) {
  ASSERT_TRUE(WriteTextFile(*io_, path_, "target").ok());
  const std::string link = JoinPath(folder_, "link");
  ASSERT_EQ(::symlink("text", link.c_str()), 0);
  ASSERT_TRUE(WriteTextFile(*io_, link, "new").ok());
  EXPECT_EQ(Text(), "target");
  EXPECT_FALSE(io_->Info(link)->is_symlink);
}

TEST_F(TextFileTest, AMissingFolderIsSaid) {
  const absl::Status status = WriteTextFile(*io_, JoinPath(folder_, "no/text"), "text");
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

}  // namespace
}  // namespace horizon

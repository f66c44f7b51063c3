#include "model/files/model_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "tests/model/recording_io.h"
#include "tests/model/safetensors_cases.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

class ModelFilesTest : public testing::Test {
 protected:
  std::string Path(std::string_view name) const { return JoinPath(folder_, name); }
  void Write(std::string_view name, std::string_view bytes) { WriteBytes(*io_, Path(name), bytes); }
  // A shard that holds each of `names` as one byte.
  void WriteShard(std::string_view name, const std::vector<std::string>& names) {
    std::string header = "{";
    for (size_t i = 0; i < names.size(); ++i) {
      header += StrCat(i == 0 ? "" : ",",
                       EntryText(names[i], "U8", "[1]", StrCat("[", i, ",", i + 1, "]")));
    }
    Write(name, SafetensorsFile(header + "}", names.size()));
  }
  void WriteIndex(std::string_view weight_map) {
    Write("model.safetensors.index.json", StrCat("{\"weight_map\":", weight_map, "}"));
  }
  void WriteTwoShards() {
    WriteShard("x.safetensors", {"a", "b"});
    WriteShard("y.safetensors", {"c"});
    WriteIndex(R"({"a":"x.safetensors","b":"x.safetensors","c":"y.safetensors"})");
  }
  absl::StatusOr<ModelFiles> Open(SymlinkPolicy symlinks = SymlinkPolicy::kFollow) {
    return ModelFiles::Open(*io_, folder_, symlinks);
  }
  void ExpectDataLoss(std::string_view part) {
    const absl::Status status = Open().status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(part)));
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
};

TEST_F(ModelFilesTest, ReadsASingleFile) {
  WriteShard("model.safetensors", {"b", "a"});
  const absl::StatusOr<ModelFiles> model = Open();
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->tensors().size(), 2);
  EXPECT_EQ(model->tensors()[0].tensor->name, "a");
  std::byte byte{};
  ASSERT_TRUE(model->ReadTensor("a", std::span(&byte, 1)).ok());
  EXPECT_EQ(byte, std::byte{1});
}

TEST_F(ModelFilesTest, ReadsShardsEachFromItsFile) {
  WriteTwoShards();
  absl::StatusOr<ModelFiles> opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  const ModelFiles model = *std::move(opened);
  EXPECT_EQ(model.files().size(), 2);
  ASSERT_EQ(model.tensors().size(), 3);
  std::byte byte{};
  ASSERT_TRUE(model.ReadTensor("b", std::span(&byte, 1)).ok());
  EXPECT_EQ(byte, std::byte{1});
  ASSERT_TRUE(model.ReadRange("c", 0, std::span(&byte, 1)).ok());
  EXPECT_EQ(byte, std::byte{0});
  EXPECT_TRUE(absl::IsNotFound(model.ReadTensor("d", {})));
  EXPECT_TRUE(absl::IsNotFound(model.ReadRange("d", 0, {})));
  EXPECT_EQ(model.Find("d"), nullptr);
  EXPECT_EQ(model.Find("c")->file, 1);
}

TEST_F(ModelFilesTest, AFolderWithoutWeightsIsNotFound) {
  const absl::Status status = Open().status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("model.safetensors.index.json"));
  EXPECT_TRUE(absl::IsNotFound(ModelFiles::Open(*io_, Path("none")).status()));
}

TEST_F(ModelFilesTest, AMissingShardIsNotFoundAndNamed) {
  WriteTwoShards();
  ASSERT_TRUE(io_->Unlink(Path("y.safetensors")).ok());
  const absl::Status status = Open().status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("y.safetensors"));
}

TEST_F(ModelFilesTest, ATensorTheShardDoesNotHoldIsNamed) {
  WriteTwoShards();
  WriteShard("x.safetensors", {"a"});
  ExpectDataLoss("\"b\"");
}

TEST_F(ModelFilesTest, ATensorTheIndexDoesNotNameIsNamed) {
  WriteTwoShards();
  WriteShard("y.safetensors", {"c", "d"});
  ExpectDataLoss("\"d\"");
}

TEST_F(ModelFilesTest, ATensorInTwoShardsIsRefused) {
  WriteTwoShards();
  WriteShard("y.safetensors", {"a", "c"});
  ExpectDataLoss("y.safetensors' holds tensor \"a\"");
}

TEST_F(ModelFilesTest, ATensorInTheWrongShardIsRefused) {
  WriteTwoShards();
  WriteIndex(R"({"a":"x.safetensors","b":"y.safetensors","c":"y.safetensors"})");
  ExpectDataLoss("\"b\"");
}

TEST_F(ModelFilesTest, ACorruptShardIsNamed) {
  WriteTwoShards();
  Write("y.safetensors", "junk");
  ExpectDataLoss("y.safetensors");
}

TEST_F(ModelFilesTest, AnIndexAboveItsLimitIsRefused) {
  Write("model.safetensors.index.json", std::string((16 << 20) + 1, ' '));
  ExpectDataLoss("larger than");
}

TEST_F(ModelFilesTest, HeadersOfAllShardsShareOneBudget) {
  std::string weight_map;
  for (int i = 0; i < 3; ++i) {
    std::string header = StrCat("{", EntryText(StrCat("t", i), "U8", "[0]", "[0,0]"), "}");
    header.resize(40'000'000, ' ');
    Write(StrCat(i, ".safetensors"), SafetensorsFile(header, 0));
    weight_map += StrCat(i == 0 ? "" : ",", "\"t", i, "\":\"", i, ".safetensors\"");
  }
  WriteIndex(StrCat("{", weight_map, "}"));
  ExpectDataLoss("2.safetensors");
}

// S5: outside the folder lies a good file that a hostile name would reach.
TEST_F(ModelFilesTest, NothingOutsideTheFolderIsOpened) {
  const std::string inner = Path("inner");
  ASSERT_TRUE(io_->MakeDirectory(inner).ok());
  WriteShard("outside.safetensors", {"a"});
  for (const std::string& name :
       {std::string("../outside.safetensors"), Path("outside.safetensors"),
        std::string("./../outside.safetensors"), std::string("..\\u002foutside.safetensors")}) {
    WriteBytes(*io_, JoinPath(inner, "model.safetensors.index.json"),
               StrCat("{\"weight_map\":{\"a\":\"", name, "\"}}"));
    RecordingIo recording(*io_);
    EXPECT_TRUE(absl::IsDataLoss(ModelFiles::Open(recording, inner).status())) << name;
    for (const Transfer& transfer : recording.transfers) {
      EXPECT_TRUE(transfer.path.starts_with(inner)) << transfer.path;
    }
  }
}

TEST_F(ModelFilesTest, LinksToRegularFilesAreFollowedAsHubCachesNeed) {
  WriteTwoShards();
  ASSERT_TRUE(io_->Rename(Path("y.safetensors"), Path("blob")).ok());
  ASSERT_EQ(::symlink("blob", Path("y.safetensors").c_str()), 0);
  EXPECT_TRUE(Open().ok());
}

TEST_F(ModelFilesTest, ARunFolderMayHoldNoLink) {
  WriteTwoShards();
  EXPECT_TRUE(Open(SymlinkPolicy::kRefuse).ok());
  for (const char* name : {"y.safetensors", "model.safetensors.index.json"}) {
    ASSERT_TRUE(io_->Rename(Path(name), Path("blob")).ok());
    ASSERT_EQ(::symlink("blob", Path(name).c_str()), 0);
    const absl::Status status = Open(SymlinkPolicy::kRefuse).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("symbolic link"));
    EXPECT_TRUE(Open(SymlinkPolicy::kFollow).ok());
    ASSERT_TRUE(io_->Rename(Path("blob"), Path(name)).ok());
  }
  WriteShard("model.safetensors", {"a"});
  ASSERT_TRUE(io_->Rename(Path("model.safetensors"), Path("blob")).ok());
  ASSERT_EQ(::symlink("blob", Path("model.safetensors").c_str()), 0);
  EXPECT_TRUE(absl::IsDataLoss(Open(SymlinkPolicy::kRefuse).status()));
}

TEST_F(ModelFilesTest, WhatIsNoRegularFileIsRefused) {
  for (const char* target : {"fifo", "folder", "device", "loop"}) {
    SCOPED_TRACE(target);
    WriteTwoShards();
    const std::string shard = Path("y.safetensors");
    ASSERT_TRUE(io_->Unlink(shard).ok());
    if (std::string_view(target) == "fifo") {
      ASSERT_EQ(::mkfifo(shard.c_str(), 0600), 0);
    } else if (std::string_view(target) == "folder") {
      ASSERT_EQ(::mkdir(shard.c_str(), 0700), 0);
    } else {
      const char* linked = std::string_view(target) == "loop" ? "y.safetensors" : "/dev/zero";
      ASSERT_EQ(::symlink(linked, shard.c_str()), 0);
    }
    const absl::Status status = Open().status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr("y.safetensors"));
    if (std::string_view(target) == "folder") {
      ASSERT_EQ(::rmdir(shard.c_str()), 0);
    } else {
      ASSERT_EQ(::unlink(shard.c_str()), 0);
    }
  }
}

TEST_F(ModelFilesTest, EveryFaultIsReported) {
  WriteTwoShards();
  for (const auto kind :
       {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort, FaultPlan::Kind::kShrink}) {
    const uint64_t hit = ForEachFault(*io_, {.kind = kind}, [&](FaultingIo& io) {
      absl::Status status;
      {
        const absl::StatusOr<ModelFiles> model = ModelFiles::Open(io, folder_);
        status = model.status();
        std::byte byte{};
        if (status.ok()) status = model->ReadTensor("c", std::span(&byte, 1));
      }
      if (kind != FaultPlan::Kind::kShrink) {
        EXPECT_EQ(status.ok(), !io.reached()) << status;
      } else if (!status.ok()) {
        EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      }
    });
    EXPECT_GT(hit, 10);
  }
}

}  // namespace
}  // namespace horizon

#include "model/files/model_folder_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "model/files/model_files.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;

std::vector<TensorDeclaration> Tensors() {
  return {{"model.embed_tokens.weight", Dtype::kBF16, {10, 4}},  // 80 bytes
          {"model.norm.weight", Dtype::kF32, {4}},               // 16
          {"scalar", Dtype::kF32, {}},                           // 4
          {"empty", Dtype::kF32, {0}},                           // 0
          {"lm_head.weight", Dtype::kF16, {33, 4}}};             // 264
}

unsigned SeedOf(const std::string& name) { return static_cast<unsigned>(name.size()); }

absl::Status FillPattern(const TensorDeclaration& tensor, uint64_t offset,
                         std::span<std::byte> into) {
  const auto bytes = PatternBytes(offset + into.size(), SeedOf(tensor.name));
  std::memcpy(into.data(), bytes.data() + offset, into.size());
  return absl::OkStatus();
}

void ExpectModel(Io& io, const std::string& folder) {
  const absl::StatusOr<ModelFiles> model = ModelFiles::Open(io, folder);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->tensors().size(), Tensors().size());
  for (const TensorDeclaration& tensor : Tensors()) {
    const ModelFiles::Location* location = model->Find(tensor.name);
    ASSERT_NE(location, nullptr);
    EXPECT_EQ(location->tensor->shape, tensor.shape);
    EXPECT_EQ(location->tensor->dtype, tensor.dtype);
    std::vector<std::byte> bytes(location->tensor->bytes().value());
    ASSERT_TRUE(model->ReadTensor(tensor.name, bytes).ok());
    EXPECT_EQ(bytes, PatternBytes(bytes.size(), SeedOf(tensor.name))) << tensor.name;
  }
}

class ModelFolderWriterTest : public testing::Test {
 protected:
  std::vector<std::string> Names() { return io_->List(folder_).value(); }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
};

TEST_F(ModelFolderWriterTest, WritesOneFileWhereItIsEnough) {
  const absl::Status status = WriteModelFolder(*io_, folder_, Tensors(), FillPattern);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Names(), ElementsAre("model.safetensors"));
  ExpectModel(*io_, folder_);
}

TEST_F(ModelFolderWriterTest, WritesShardsAndTheirIndex) {
  ASSERT_TRUE(WriteModelFolder(*io_, folder_, Tensors(), FillPattern, {.max_shard = 100_B}).ok());
  EXPECT_THAT(Names(),
              ElementsAre("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                          "model.safetensors.index.json"));
  ExpectModel(*io_, folder_);
  const auto index =
      ParseJson("index", ReadBytes(*io_, JoinPath(folder_, "model.safetensors.index.json")));
  ASSERT_TRUE(index.ok()) << index.status();
  const Value* total = index->root.Find("metadata")->Find("total_size");
  ASSERT_NE(total, nullptr);
  EXPECT_EQ(*total->As<int64_t>(), 80 + 16 + 4 + 264);
  EXPECT_EQ(*index->root.Find("weight_map")->Find("lm_head.weight")->As<std::string>(),
            "model-00002-of-00002.safetensors");
}

TEST_F(ModelFolderWriterTest, EveryFileSaysWhichFrameworkReadsIt) {
  ASSERT_TRUE(WriteModelFolder(*io_, folder_, Tensors(), FillPattern, {.max_shard = 1_B}).ok());
  const absl::StatusOr<ModelFiles> model = ModelFiles::Open(*io_, folder_);
  ASSERT_TRUE(model.ok()) << model.status();
  for (const SafetensorsReader& file : model->files()) {
    ASSERT_EQ(file.header().metadata().size(), 1);
    EXPECT_EQ(file.header().metadata()[0], (std::pair<std::string, std::string>("format", "pt")));
  }
}

TEST_F(ModelFolderWriterTest, PiecesAreBoundedWholeElementsInOrder) {
  for (const uint64_t piece : {0, 1, 8, 15, 64, 1000}) {
    const uint64_t bound = std::max<uint64_t>(8, piece);
    std::string tensor;
    uint64_t next = 0;
    const auto source = [&](const TensorDeclaration& from, uint64_t offset,
                            std::span<std::byte> into) {
      if (from.name != tensor) next = 0;
      tensor = from.name;
      EXPECT_EQ(offset, next);
      EXPECT_LE(into.size(), bound);
      EXPECT_FALSE(into.empty());
      EXPECT_EQ(into.size() % (BitsOf(from.dtype) / 8), 0);
      next = offset + into.size();
      return FillPattern(from, offset, into);
    };
    const std::string folder = JoinPath(folder_, StrCat("piece", piece));
    ASSERT_TRUE(io_->MakeDirectory(folder).ok());
    ASSERT_TRUE(
        WriteModelFolder(*io_, folder, Tensors(), source, {.piece = Bytes(CheckedU64(piece))})
            .ok());
    ExpectModel(*io_, folder);
  }
}

TEST_F(ModelFolderWriterTest, SplitsWhereTheNextTensorWouldNotFit) {
  const auto split = [](uint64_t most) {
    return SplitIntoShards(Tensors(), Bytes(CheckedU64(most))).value();
  };
  using Shards = std::vector<ShardRange>;
  EXPECT_EQ(split(1000), (Shards{{0, 5}}));
  EXPECT_EQ(split(364), (Shards{{0, 5}}));
  EXPECT_EQ(split(363), (Shards{{0, 4}, {4, 5}}));
  EXPECT_EQ(split(96), (Shards{{0, 2}, {2, 4}, {4, 5}}));
  EXPECT_EQ(split(80), (Shards{{0, 1}, {1, 4}, {4, 5}}));
  EXPECT_EQ(split(0), (Shards{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}));
  EXPECT_EQ(SplitIntoShards({}, 10_B).value(), (Shards{{0, 0}}));
  EXPECT_FALSE(SplitIntoShards({{"a", Dtype::kU8, {-1}}}, 10_B).ok());
}

TEST_F(ModelFolderWriterTest, WeightsThatAreThereAreLeftAlone) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    WriteBytes(*io_, JoinPath(folder_, name), "precious");
    const absl::Status status =
        WriteModelFolder(*io_, folder_, Tensors(), FillPattern, {.max_shard = 100_B});
    EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
    EXPECT_THAT(Names(), ElementsAre(name));
    EXPECT_EQ(ReadBytes(*io_, JoinPath(folder_, name)), "precious");
    ASSERT_TRUE(io_->Unlink(JoinPath(folder_, name)).ok());
  }
  // A shard that is in the way: those written before it go, it stays.
  const std::string second = "model-00002-of-00002.safetensors";
  WriteBytes(*io_, JoinPath(folder_, second), "precious");
  EXPECT_TRUE(absl::IsAlreadyExists(
      WriteModelFolder(*io_, folder_, Tensors(), FillPattern, {.max_shard = 100_B})));
  EXPECT_THAT(Names(), ElementsAre(second));
}

TEST_F(ModelFolderWriterTest, TheSamesNameTwiceIsRefusedAlsoAcrossShards) {
  std::vector<TensorDeclaration> tensors = Tensors();
  tensors.push_back(tensors[0]);
  EXPECT_TRUE(absl::IsInvalidArgument(
      WriteModelFolder(*io_, folder_, tensors, FillPattern, {.max_shard = 1_B})));
  EXPECT_THAT(Names(), ElementsAre());
}

TEST_F(ModelFolderWriterTest, AFailingSourceLeavesNothing) {
  const auto source = [](const TensorDeclaration& tensor, uint64_t offset,
                         std::span<std::byte> into) {
    if (tensor.name == "lm_head.weight" && offset > 0) return absl::InternalError("no value");
    return FillPattern(tensor, offset, into);
  };
  EXPECT_EQ(WriteModelFolder(*io_, folder_, Tensors(), source, {.max_shard = 100_B, .piece = 64_B}),
            absl::InternalError("no value"));
  EXPECT_THAT(Names(), ElementsAre());
}

TEST_F(ModelFolderWriterTest, EveryFaultIsReportedAndLeavesNoModel) {
  const uint64_t hit = ForEachFault(*io_, {.error_number = ENOSPC}, [&](FaultingIo& io) {
    const absl::Status status =
        WriteModelFolder(io, folder_, Tensors(), FillPattern, {.max_shard = 100_B, .piece = 64_B});
    if (!io.reached()) {
      ASSERT_TRUE(status.ok()) << status;
      ExpectModel(*io_, folder_);
    } else {
      EXPECT_EQ(IoErrno(status), ENOSPC) << status;
    }
    const std::vector<std::string> left = Names();
    const std::vector<std::string> history = io.history();
    const bool could_remove = std::none_of(history.begin(), history.end(), [](const auto& call) {
      return call.starts_with("Unlink");
    });
    if (io.reached() && could_remove) {
      EXPECT_THAT(left, ElementsAre());
    }
    for (const std::string& name : left) ASSERT_TRUE(io_->Unlink(JoinPath(folder_, name)).ok());
  });
  EXPECT_GT(hit, 20);
}

}  // namespace
}  // namespace horizon

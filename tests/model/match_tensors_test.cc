#include "model/match_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "common/str_cat.h"
#include "model/load_model_spec.h"
#include "model/model_folder_writer.h"
#include "tests/model/model_specs.h"
#include "tests/model/recording_io.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

class MatchTensorsTest : public testing::Test {
 protected:
  void SetUp() override { UseSpec(false); }

  void UseSpec(bool tied) {
    spec_ = TinySpec("llama");
    spec_.tied = tied;
    stages_ = ListStages(spec_);
    tensors_.clear();
    for (const Stage& stage : stages_) {
      for (const TensorSpec& tensor : stage.tensors) {
        tensors_.push_back({tensor.name, Dtype::kBF16, tensor.shape});
      }
    }
  }

  TensorDeclaration& Tensor(std::string_view name) {
    return *std::find_if(tensors_.begin(), tensors_.end(),
                         [&](const TensorDeclaration& tensor) { return tensor.name == name; });
  }

  // Every value is its offset; `changed` is a byte of lm_head.weight that differs.
  absl::Status WriteAndMatch(int64_t changed = -1, Bytes max_shard = 1_GiB, Bytes piece = 1_MiB) {
    const std::string folder = JoinPath(folder_, StrCat("model", folders_++));
    EXPECT_TRUE(io_->MakeDirectory(folder).ok());
    const auto source = [&](const TensorDeclaration& tensor, uint64_t offset,
                            std::span<std::byte> into) {
      for (size_t i = 0; i < into.size(); ++i) into[i] = static_cast<std::byte>((offset + i) % 251);
      const uint64_t at = static_cast<uint64_t>(changed) - offset;
      if (changed >= 0 && tensor.name == "lm_head.weight" && at < into.size()) {
        into[at] ^= std::byte{1};
      }
      return absl::OkStatus();
    };
    const absl::Status written =
        WriteModelFolder(*io_, folder, tensors_, source, {.max_shard = max_shard});
    EXPECT_TRUE(written.ok()) << written;
    RecordingIo recording(*io_);
    const absl::StatusOr<ModelFiles> files = ModelFiles::Open(recording, folder);
    EXPECT_TRUE(files.ok()) << files.status();
    recording.transfers.clear();
    absl::Status status = MatchTensors(spec_, stages_, *files, piece);
    largest_read_ = 0;
    for (const Transfer& transfer : recording.transfers) {
      largest_read_ = std::max(largest_read_, transfer.bytes);
    }
    return status;
  }

  void ExpectRefused(const absl::Status& status, absl::StatusCode code,
                     const std::vector<std::string>& parts) {
    EXPECT_EQ(status.code(), code) << status;
    for (const std::string& part : parts) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(part));
    }
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
  int folders_ = 0;
  ModelSpec spec_;
  std::vector<Stage> stages_;
  std::vector<TensorDeclaration> tensors_;
  size_t largest_read_ = 0;
};

TEST_F(MatchTensorsTest, AcceptsEveryFamilyInOneFileOrMany) {
  for (const std::string_view family : TestedFamilies()) {
    spec_ = TinySpec(family);
    stages_ = ListStages(spec_);
    tensors_.clear();
    for (const Stage& stage : stages_) {
      for (const TensorSpec& tensor : stage.tensors) {
        tensors_.push_back({tensor.name, Dtype::kF16, tensor.shape});
      }
    }
    EXPECT_TRUE(WriteAndMatch().ok()) << family;
    EXPECT_TRUE(WriteAndMatch(-1, 10_KiB).ok()) << family;
  }
}

TEST_F(MatchTensorsTest, NoValueIsReadWhereNothingIsTied) {
  ASSERT_TRUE(WriteAndMatch().ok());
  EXPECT_EQ(largest_read_, 0);
}

TEST_F(MatchTensorsTest, DtypesMayDifferFromTensorToTensor) {
  tensors_[0].dtype = Dtype::kF32;
  tensors_[1].dtype = Dtype::kF16;
  EXPECT_TRUE(WriteAndMatch().ok());
}

TEST_F(MatchTensorsTest, OtherDtypesAreRefusedByName) {
  for (const Dtype dtype : AllDtypes()) {
    if (IsModelDtype(dtype)) continue;
    UseSpec(false);
    Tensor("model.norm.weight").dtype = dtype;
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kInvalidArgument,
                  {"\"model.norm.weight\"", StrCat(" is ", ToString(dtype))});
  }
}

TEST_F(MatchTensorsTest, AMissingTensorIsNamed) {
  tensors_.pop_back();
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                {"1 missing: \"lm_head.weight\"", "model0"});
}

TEST_F(MatchTensorsTest, ManyMissingTensorsAreCounted) {
  const size_t missing = tensors_.size() - 1;
  tensors_.resize(1);
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss, {StrCat(missing, " missing"), "..."});
}

TEST_F(MatchTensorsTest, AnExtraTensorIsNamed) {
  tensors_.push_back({"model.layers.2.self_attn.q_proj.weight", Dtype::kBF16, {64, 64}});
  ExpectRefused(
      WriteAndMatch(), absl::StatusCode::kDataLoss,
      {"1 not of this model: \"model.layers.2.self_attn.q_proj.weight\"", "model.safetensors"});
}

TEST_F(MatchTensorsTest, AnotherShapeIsNamedWithBoth) {
  std::vector<int64_t>& shape = Tensor("model.layers.0.mlp.down_proj.weight").shape;
  std::swap(shape[0], shape[1]);
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                {"model.layers.0.mlp.down_proj.weight", "[176, 64]", "[64, 176]"});
}

TEST_F(MatchTensorsTest, TheSameCountInAnotherRankIsAnotherShape) {
  Tensor("model.norm.weight").shape = {64, 1};
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss, {"model.norm.weight", "[64, 1]"});
}

TEST_F(MatchTensorsTest, TablesThatFollowFromTheConfigAreAccepted) {
  tensors_.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", Dtype::kF32, {8}});
  tensors_.push_back({"model.rotary_emb.inv_freq", Dtype::kF32, {8}});
  tensors_.push_back({"model.layers.0.self_attn.rotary_emb.cos_cached", Dtype::kF64, {2, 2}});
  EXPECT_TRUE(WriteAndMatch().ok());
}

TEST_F(MatchTensorsTest, ACopyOfTheTiedEmbeddingIsAcceptedWhereverItLies) {
  UseSpec(true);
  EXPECT_TRUE(WriteAndMatch().ok()) << "no copy";
  tensors_.push_back({"lm_head.weight", Dtype::kBF16, {320, 64}});
  EXPECT_TRUE(WriteAndMatch().ok());
  EXPECT_TRUE(WriteAndMatch(-1, 1_KiB).ok()) << "in another shard";
}

TEST_F(MatchTensorsTest, TheTiedCopyIsComparedInBoundedPieces) {
  UseSpec(true);
  tensors_.push_back({"lm_head.weight", Dtype::kBF16, {320, 64}});
  for (const uint64_t piece : {1000, 999, 4096, 40959, 40960, 40961}) {
    ASSERT_TRUE(WriteAndMatch(-1, 1_GiB, Bytes(CheckedU64(piece))).ok());
    EXPECT_EQ(largest_read_, std::min<uint64_t>(piece, 40960));
  }
}

TEST_F(MatchTensorsTest, ATiedCopyThatDiffersAnywhereIsRefused) {
  UseSpec(true);
  tensors_.push_back({"lm_head.weight", Dtype::kBF16, {320, 64}});
  for (const int64_t changed : {0, 1, 998, 999, 1000, 20000, 40958, 40959}) {
    ExpectRefused(WriteAndMatch(changed, 1_GiB, Bytes(CheckedU64(999))),
                  absl::StatusCode::kDataLoss,
                  {"lm_head.weight", "model.embed_tokens.weight", StrCat("at byte ", changed)});
  }
}

TEST_F(MatchTensorsTest, ATiedCopyOfAnotherTypeOrShapeIsRefused) {
  UseSpec(true);
  tensors_.push_back({"lm_head.weight", Dtype::kF16, {320, 64}});
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss, {"lm_head.weight", "F16"});
  tensors_.back() = {"lm_head.weight", Dtype::kBF16, {64, 320}};
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss, {"lm_head.weight", "[64, 320]"});
}

class GoldenModels : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Families, GoldenModels,
                         testing::Values("gpt_oss", "llama", "mistral_window", "mixtral", "qwen2",
                                         "qwen3", "qwen3_moe"),
                         [](const auto& tested) { return tested.param; });

TEST_P(GoldenModels, MatchTheirConfigAndReadWhole) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string folder = StrCat("tests/goldens/", GetParam());
  const absl::StatusOr<ModelConfig> config = LoadModelSpec(*io, folder);
  ASSERT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io, folder);
  ASSERT_TRUE(files.ok()) << files.status();
  const absl::Status matched = MatchTensors(config->spec, ListStages(config->spec), *files);
  EXPECT_TRUE(matched.ok()) << matched;
  EXPECT_GT(files->tensors().size(), 10);
  const std::string whole = ReadBytes(*io, JoinPath(folder, "model.safetensors"));
  const uint64_t data = 8 + files->files()[0].header_bytes();
  for (const ModelFiles::Location& location : files->tensors()) {
    std::vector<std::byte> bytes(location.tensor->bytes());
    ASSERT_TRUE(files->ReadTensor(location.tensor->name, bytes).ok());
    ASSERT_EQ(std::memcmp(bytes.data(), whole.data() + data + location.tensor->begin, bytes.size()),
              0)
        << location.tensor->name;
  }
}

}  // namespace
}  // namespace horizon

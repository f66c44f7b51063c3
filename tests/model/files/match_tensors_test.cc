#include "model/files/match_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "model/files/model_folder_writer.h"
#include "model/load_model_spec.h"
#include "tests/goldens/golden_names.h"
#include "tests/model/model_specs.h"
#include "tests/model/recording_io.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MatchTensorsTest : public testing::Test {
 protected:
  void SetUp() override { UseSpec(false); }

  void UseSpec(bool tied) {
    spec_ = TinySpec("llama");
    spec_.tied = tied;
    stages_ = ListStages(spec_);
    Declare(Dtype::kBF16, DiskNaming::kPlain);
  }

  // The text part of a multimodal model, with two tensors of its other parts.
  void UseWrapper(bool tied, DiskNaming naming) {
    UseSpec(tied);
    spec_.wrapper = "mistral3";
    Declare(Dtype::kBF16, naming);
    tensors_.push_back({"vision_tower.mask", Dtype::kBool, {3}});
    tensors_.push_back({"model.multi_modal_projector.scale", Dtype::kI64, {}});
  }

  void Declare(Dtype dtype, DiskNaming naming) {
    tensors_.clear();
    for (const DiskTensor& tensor : ListDiskTensors(stages_, naming)) {
      tensors_.push_back({tensor.name, dtype, tensor.shape});
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
      if (changed >= 0 && tensor.name.ends_with("lm_head.weight") && at < into.size()) {
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
    const absl::StatusOr<MatchedTensors> matched = MatchTensors(spec_, stages_, *files, piece);
    naming_ = matched.ok() ? matched->naming : DiskNaming::kPlain;
    others_.clear();
    for (size_t i = 0; matched.ok() && i < matched->others.size(); ++i) {
      others_.push_back(matched->others[i]->tensor->name);
    }
    largest_read_ = 0;
    for (const Transfer& transfer : recording.transfers) {
      largest_read_ = std::max(largest_read_, transfer.bytes);
    }
    return matched.status();
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
  DiskNaming naming_ = DiskNaming::kPlain;
  std::vector<std::string> others_;
};

TEST_F(MatchTensorsTest, AcceptsEveryFamilyInOneFileOrMany) {
  for (const std::string_view family : TestedFamilies()) {
    spec_ = TinySpec(family);
    stages_ = ListStages(spec_);
    Declare(Dtype::kF16, DiskNaming::kPlain);
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

TEST_F(MatchTensorsTest, AFusedTensorIsNamedAsItIsOnDisk) {
  const std::string qkv = "model.layers.1.self_attn.qkv_proj.weight";
  const auto use = [&] {
    spec_ = TinySpec("phi3");
    stages_ = ListStages(spec_);
    Declare(Dtype::kBF16, DiskNaming::kPlain);
  };
  use();
  EXPECT_TRUE(WriteAndMatch().ok());
  Tensor(qkv).shape[0] -= 1;
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss, {qkv, "[127, 64]", "[128, 64]"});
  use();
  Tensor(qkv).dtype = Dtype::kI8;
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kInvalidArgument, {qkv, "I8"});
  // Its parts do not stand for it.
  Tensor(qkv) = {"model.layers.1.self_attn.q_proj.weight", Dtype::kBF16, {64, 64}};
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                {StrCat("1 missing: \"", qkv, "\""),
                 "1 not of this model: \"model.layers.1.self_attn.q_proj.weight\""});
}

TEST_F(MatchTensorsTest, AMultimodalModelMayHaveOtherPartsInBothNamings) {
  for (const DiskNaming naming : {DiskNaming::kLanguageModel, DiskNaming::kNested}) {
    for (const Bytes shard : {1_GiB, 10_KiB}) {
      UseWrapper(false, naming);
      tensors_.push_back(
          {DiskName("model.layers.0.self_attn.rotary_emb.inv_freq", naming), Dtype::kF32, {8}});
      const absl::Status status = WriteAndMatch(-1, shard);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(naming_, naming);
      EXPECT_THAT(others_, ElementsAre("model.multi_modal_projector.scale", "vision_tower.mask"));
      EXPECT_EQ(largest_read_, 0);
    }
  }
}

TEST_F(MatchTensorsTest, TheTextPartOfAMultimodalModelMustBeWhole) {
  for (const DiskNaming naming : {DiskNaming::kLanguageModel, DiskNaming::kNested}) {
    const std::string up = DiskName("model.layers.0.mlp.up_proj.weight", naming);
    UseWrapper(false, naming);
    Tensor(up).name = DiskName("model.layers.7.mlp.up_proj.weight", naming);
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                  {StrCat("1 missing: \"", up, "\""),
                   StrCat("1 not of this model: \"",
                          DiskName("model.layers.7.mlp.up_proj.weight", naming), "\"")});
    UseWrapper(false, naming);
    Tensor(up).shape = {2, 2};
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss, {up, "[2, 2]", "[176, 64]"});
    UseWrapper(false, naming);
    Tensor(up).dtype = Dtype::kU8;
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kInvalidArgument, {up, "U8"});
    // A head under the name of the other naming is not the head.
    const DiskNaming other =
        naming == DiskNaming::kNested ? DiskNaming::kLanguageModel : DiskNaming::kNested;
    UseWrapper(false, naming);
    Tensor(DiskName("lm_head.weight", naming)).name = DiskName("lm_head.weight", other);
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                  {StrCat("missing: \"", DiskName("lm_head.weight", naming), "\""),
                   StrCat("not of this model: \"", DiskName("lm_head.weight", other), "\"")});
    // Names of both kinds.
    UseWrapper(false, naming);
    Tensor(up).name = DiskName("model.layers.0.mlp.up_proj.weight", other);
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss, {"named in two ways"});
  }
}

TEST_F(MatchTensorsTest, TheHeadOfATiedMultimodalModelIsComparedToo) {
  for (const DiskNaming naming : {DiskNaming::kLanguageModel, DiskNaming::kNested}) {
    UseWrapper(true, naming);
    EXPECT_TRUE(WriteAndMatch().ok());
    tensors_.push_back({DiskName("lm_head.weight", naming), Dtype::kBF16, {320, 64}});
    EXPECT_TRUE(WriteAndMatch().ok());
    ExpectRefused(WriteAndMatch(1000), absl::StatusCode::kDataLoss,
                  {DiskName("lm_head.weight", naming),
                   DiskName("model.embed_tokens.weight", naming), "at byte 1000"});
  }
}

TEST_F(MatchTensorsTest, ATextModelHasNoOtherParts) {
  tensors_.push_back({"vision_tower.mask", Dtype::kBool, {3}});
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                {"1 not of this model: \"vision_tower.mask\""});
}

class GoldenModels : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Families, GoldenModels, testing::ValuesIn(PlainGoldens()),
                         [](const auto& tested) { return tested.param; });
INSTANTIATE_TEST_SUITE_P(FamiliesWithExperts, GoldenModels, testing::ValuesIn(ExpertGoldens()),
                         [](const auto& tested) { return tested.param; });
INSTANTIATE_TEST_SUITE_P(Wrappers, GoldenModels, testing::ValuesIn(WrapperGoldens()),
                         [](const auto& tested) { return tested.param; });

TEST_P(GoldenModels, MatchTheirConfigAndReadWhole) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string folder = StrCat("tests/goldens/", GetParam());
  const absl::StatusOr<ModelConfig> config = LoadModelSpec(*io, folder);
  ASSERT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io, folder);
  ASSERT_TRUE(files.ok()) << files.status();
  const std::vector<Stage> stages = ListStages(config->spec);
  const absl::StatusOr<MatchedTensors> matched = MatchTensors(config->spec, stages, *files);
  ASSERT_TRUE(matched.ok()) << matched.status();
  EXPECT_EQ(matched->others.empty(), config->spec.wrapper.empty());
  EXPECT_GT(files->tensors().size(), 10);
  const std::string whole = ReadBytes(*io, JoinPath(folder, "model.safetensors"));
  const uint64_t data = 8 + files->files()[0].header_bytes().value();
  for (const ModelFiles::Location& location : files->tensors()) {
    std::vector<std::byte> bytes(location.tensor->bytes().value());
    ASSERT_TRUE(files->ReadTensor(location.tensor->name, bytes).ok());
    ASSERT_EQ(std::memcmp(bytes.data(), whole.data() + data + location.tensor->begin, bytes.size()),
              0)
        << location.tensor->name;
  }
}

}  // namespace
}  // namespace horizon

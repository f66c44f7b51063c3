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

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
    const absl::StatusOr<MatchedTensors> matched =
        MatchTensors(spec_, stages_, *files, {.quantization = quantization_, .piece = piece});
    naming_ = matched.ok() ? matched->naming : DiskNaming::kPlain;
    experts_ = matched.ok() ? matched->experts : ExpertLayout::kUsual;
    formats_.clear();
    for (size_t i = 0; matched.ok() && i < matched->stored.size(); ++i) {
      formats_.push_back(StrCat(matched->tensors[i].name, " ", matched->stored[i].FormatName()));
    }
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
  Quantization quantization_;
  std::vector<TensorDeclaration> tensors_;
  size_t largest_read_ = 0;
  DiskNaming naming_ = DiskNaming::kPlain;
  ExpertLayout experts_ = ExpertLayout::kUsual;
  std::vector<std::string> formats_;  // "NAME FORMAT"
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

// What the files of a quantised or fused folder hold, and what is wrong with hostile ones.
class StoredFormats : public MatchTensorsTest {
 protected:
  void UseMoe(ExpertLayout layout, std::string_view family = "qwen3_moe") {
    spec_ = TinySpec(family);
    stages_ = ListStages(spec_);
    quantization_ = {};
    tensors_.clear();
    for (const DiskTensor& tensor : ListDiskTensors(stages_, DiskNaming::kPlain, layout)) {
      tensors_.push_back({tensor.name, Dtype::kBF16, tensor.shape});
    }
  }

  // gpt_oss with hidden 64, 4 experts of 96, as published.
  void UseMxfp4() {
    UseMoe(ExpertLayout::kUsual, "gpt_oss");
    spec_.experts.intermediate = 96;
    stages_ = ListStages(spec_);
    Declare(Dtype::kBF16, DiskNaming::kPlain);
    quantization_ = {.method = QuantMethod::kMxfp4};
    for (const std::string layer : {"0", "1"}) {
      const std::string experts = StrCat("model.layers.", layer, ".mlp.experts.");
      Tensor(experts + "gate_up_proj") = {
          experts + "gate_up_proj_blocks", Dtype::kU8, {4, 192, 2, 16}};
      Tensor(experts + "down_proj") = {experts + "down_proj_blocks", Dtype::kU8, {4, 64, 3, 16}};
      tensors_.push_back({experts + "gate_up_proj_scales", Dtype::kU8, {4, 192, 2}});
      tensors_.push_back({experts + "down_proj_scales", Dtype::kU8, {4, 64, 3}});
    }
  }

  // Every matrix of a layer, with scales for blocks of 48 x 40.
  void UseFp8(ExpertLayout layout = ExpertLayout::kUsual, Dtype scales = Dtype::kBF16) {
    UseMoe(layout);
    quantization_ = {.method = QuantMethod::kFp8, .block_rows = 48, .block_columns = 40};
    const std::vector<TensorDeclaration> plain = tensors_;
    for (const TensorDeclaration& tensor : plain) {
      if (tensor.shape.size() < 2 || !tensor.name.starts_with("model.layers.") ||
          tensor.name.ends_with("mlp.gate.weight")) {
        continue;
      }
      Tensor(tensor.name).dtype = Dtype::kF8E4M3;
      std::vector<int64_t> shape = tensor.shape;
      shape.back() = (shape.back() + 39) / 40;
      shape[shape.size() - 2] = (shape[shape.size() - 2] + 47) / 48;
      tensors_.push_back({tensor.name + "_scale_inv", scales, shape});
    }
  }
};

TEST_F(StoredFormats, FusedExpertsAreAcceptedInOneFileOrMany) {
  for (const std::string_view family : {"mixtral", "qwen3_moe"}) {
    for (const ExpertLayout layout : {ExpertLayout::kUsual, ExpertLayout::kFused}) {
      UseMoe(layout, family);
      EXPECT_EQ(WriteAndMatch(), absl::OkStatus());
      EXPECT_EQ(experts_, layout);
      EXPECT_EQ(WriteAndMatch(-1, 10_KiB), absl::OkStatus());
    }
  }
}

TEST_F(StoredFormats, AnotherNumberOfExpertsIsNamedWithBoth) {
  for (const ExpertLayout layout : {ExpertLayout::kUsual, ExpertLayout::kFused}) {
    UseMoe(layout);
    spec_.experts.experts = 5;
    stages_ = ListStages(spec_);
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                  {"The files have 4 experts", "the config.json has 5 (num_local_experts"});
    spec_.experts.experts = 3;
    stages_ = ListStages(spec_);
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                  {"The files have 4 experts", "the config.json has 3"});
  }
  UseMxfp4();
  spec_.experts.experts = 5;
  stages_ = ListStages(spec_);
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                {"gate_up_proj_scales", "[4, 192, 2]", "[5, 192, 2]", "model.safetensors",
                 "The files have 4 experts", "the config.json has 5"});
}

TEST_F(StoredFormats, AMissingExpertIsNamed) {
  UseMoe(ExpertLayout::kUsual);
  const std::string name = "model.layers.1.mlp.experts.2.up_proj.weight";
  std::erase_if(tensors_, [&](const auto& tensor) { return tensor.name == name; });
  const absl::Status status = WriteAndMatch();
  ExpectRefused(status, absl::StatusCode::kDataLoss, {StrCat("1 missing: \"", name, "\"")});
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("The files have")));
  // A whole expert in the middle.
  std::erase_if(tensors_, [&](const auto& tensor) {
    return tensor.name.find("layers.0.mlp.experts.1.") != std::string::npos;
  });
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                {"4 missing", "model.layers.0.mlp.experts.1.gate_proj.weight"});
}

TEST_F(StoredFormats, FusedExpertsThatAreTransposedAreRefused) {
  UseMoe(ExpertLayout::kFused);
  const std::string down = "model.layers.0.mlp.experts.down_proj";
  Tensor(down).shape = {4, 176, 64};
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                {down, "[4, 176, 64], the config makes it [4, 64, 176] (it may be transposed)"});
}

TEST_F(StoredFormats, ExpertsInTwoLayoutsAreRefused) {
  UseMoe(ExpertLayout::kUsual);
  tensors_.push_back({"model.layers.0.mlp.experts.down_proj", Dtype::kBF16, {4, 64, 176}});
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss, {"stored in two ways"});
}

TEST_F(StoredFormats, PartsOfOtherFamiliesAreNamedForWhatTheyAre) {
  const std::vector<std::pair<std::string, std::string>> others = {
      {"mlp.shared_expert.gate_proj.weight", "shared experts"},
      {"mlp.shared_experts.up_proj.weight", "shared experts"},
      {"mlp.gate.e_score_correction_bias", "a router with a bias"},
      {"self_attn.kv_a_proj_with_mqa.weight", "multi-head latent attention"}};
  for (const auto& [name, what] : others) {
    UseMoe(ExpertLayout::kUsual);
    tensors_.push_back({"model.layers.0." + name, Dtype::kBF16, {2, 2}});
    ExpectRefused(
        WriteAndMatch(), absl::StatusCode::kDataLoss,
        {StrCat("1 not of this model: \"model.layers.0.", name, "\""), what, "not supported"});
  }
}

TEST_F(StoredFormats, Mxfp4IsFoundAsPublished) {
  UseMxfp4();
  EXPECT_EQ(WriteAndMatch(), absl::OkStatus());
  EXPECT_EQ(largest_read_, 0u);
  EXPECT_EQ(WriteAndMatch(-1, 1_KiB), absl::OkStatus());
  EXPECT_THAT(formats_, Contains("model.layers.1.mlp.experts.down_proj MXFP4"));
  EXPECT_THAT(formats_, Contains("model.layers.1.mlp.experts.down_proj_bias BF16"));
}

TEST_F(StoredFormats, Mxfp4OfAnotherShapeOrTypeIsRefusedByName) {
  const std::string blocks = "model.layers.0.mlp.experts.gate_up_proj_blocks";
  const std::string scales = "model.layers.1.mlp.experts.down_proj_scales";
  const std::vector<std::vector<int64_t>> wrong_blocks = {
      {4, 192, 2, 32}, {4, 192, 4, 8}, {4, 192, 32}, {4, 64, 6, 16}, {4, 192, 1, 16}};
  for (const std::vector<int64_t>& shape : wrong_blocks) {
    UseMxfp4();
    Tensor(blocks).shape = shape;
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                  {blocks, "the config makes it [4, 192, 2, 16]", "model.safetensors"});
  }
  const std::vector<std::vector<int64_t>> wrong_scales = {{4, 64, 1}, {4, 64}, {4, 64, 3, 1}};
  for (const std::vector<int64_t>& shape : wrong_scales) {
    UseMxfp4();
    Tensor(scales).shape = shape;
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                  {scales, "the config makes it [4, 64, 3]", "model.safetensors"});
  }
  for (const std::string& name : {blocks, scales}) {
    for (const Dtype dtype : {Dtype::kI8, Dtype::kF8E8M0, Dtype::kBF16, Dtype::kF4}) {
      UseMxfp4();
      Tensor(name).dtype = dtype;
      ExpectRefused(WriteAndMatch(), absl::StatusCode::kInvalidArgument,
                    {StrCat("\"", name, "\" in"), StrCat("is ", ToString(dtype), ", not U8")});
    }
  }
}

TEST_F(StoredFormats, MissingBlocksOrScalesAreNamed) {
  for (const std::string name : {"model.layers.0.mlp.experts.down_proj_scales",
                                 "model.layers.1.mlp.experts.gate_up_proj_blocks"}) {
    UseMxfp4();
    std::erase_if(tensors_, [&](const auto& tensor) { return tensor.name == name; });
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                  {StrCat("1 missing: \"", name, "\"")});
  }
  UseFp8();
  const std::string scale = "model.layers.0.mlp.experts.3.down_proj.weight_scale_inv";
  std::erase_if(tensors_, [&](const auto& tensor) { return tensor.name == scale; });
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                {StrCat("1 missing: \"", scale, "\"")});
}

TEST_F(StoredFormats, PlainAndQuantisedExpertsOfOneLayerExcludeEachOther) {
  UseMxfp4();
  tensors_.push_back({"model.layers.0.mlp.experts.down_proj", Dtype::kBF16, {4, 96, 64}});
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                {"2 not of this model", "model.layers.0.mlp.experts.down_proj_blocks"});
}

TEST_F(StoredFormats, Fp8IsFoundInBothLayoutsWithBothTypesOfScales) {
  for (const ExpertLayout layout : {ExpertLayout::kUsual, ExpertLayout::kFused}) {
    for (const Dtype scales : {Dtype::kF32, Dtype::kBF16}) {
      UseFp8(layout, scales);
      EXPECT_EQ(WriteAndMatch(), absl::OkStatus());
      EXPECT_EQ(experts_, layout);
      EXPECT_THAT(formats_, Contains("model.layers.0.self_attn.q_proj.weight FP8 48x40"));
      EXPECT_THAT(formats_, Contains("model.layers.0.mlp.gate.weight BF16"));
      EXPECT_THAT(formats_, Contains("lm_head.weight BF16"));
    }
  }
  // A matrix that was not converted has no scales.
  UseFp8();
  const std::string output = "model.layers.0.self_attn.o_proj.weight";
  Tensor(output).dtype = Dtype::kF32;
  std::erase_if(tensors_, [&](const auto& tensor) { return tensor.name == output + "_scale_inv"; });
  EXPECT_EQ(WriteAndMatch(), absl::OkStatus());
  tensors_.push_back({output + "_scale_inv", Dtype::kF32, {2, 2}});
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                {StrCat("1 not of this model: \"", output, "_scale_inv\"")});
}

TEST_F(StoredFormats, Fp8OfAnotherShapeOrTypeIsRefusedByName) {
  const std::string scale = "model.layers.1.mlp.experts.0.up_proj.weight_scale_inv";  // [4, 2]
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{3, 2}, {4, 1}, {2, 4}, {8}, {}, {4, 2, 1}}) {
    UseFp8();
    Tensor(scale).shape = shape;
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                  {scale, "the config makes it [4, 2]", "model.safetensors"});
  }
  for (const Dtype dtype : {Dtype::kF16, Dtype::kU8, Dtype::kF8E8M0, Dtype::kF64}) {
    UseFp8();
    Tensor(scale).dtype = dtype;
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kInvalidArgument,
                  {scale, StrCat("is ", ToString(dtype), ", not F32 or BF16")});
  }
  for (const Dtype dtype : {Dtype::kF8E5M2, Dtype::kU8, Dtype::kF8E4M3Fnuz}) {
    UseFp8();
    Tensor("model.layers.0.self_attn.k_proj.weight").dtype = dtype;
    std::erase_if(tensors_, [&](const auto& tensor) {
      return tensor.name == "model.layers.0.self_attn.k_proj.weight_scale_inv";
    });
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kInvalidArgument,
                  {"k_proj.weight", StrCat("is ", ToString(dtype), ", not F32, F16 or BF16")});
  }
  // Only matrices have blocks.
  UseFp8();
  Tensor("model.norm.weight").dtype = Dtype::kF8E4M3;
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kInvalidArgument, {"model.norm.weight"});
}

TEST_F(StoredFormats, TheConfigMustSayThatTheyAreQuantised) {
  for (const bool fp8 : {false, true}) {
    if (fp8) {
      UseFp8();
    } else {
      UseMxfp4();
    }
    quantization_ = {};
    ExpectRefused(WriteAndMatch(), absl::StatusCode::kDataLoss,
                  {"no quantization_config", "mxfp4 and fp8 can be read"});
  }
  // And must not say it of plain tensors.
  UseMoe(ExpertLayout::kUsual);
  quantization_ = {.method = QuantMethod::kFp8, .block_rows = 128, .block_columns = 128};
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kInvalidArgument,
                {"fp8 in blocks of 128 x 128", "remove quantization_config"});
  UseMoe(ExpertLayout::kUsual, "gpt_oss");
  quantization_ = {.method = QuantMethod::kMxfp4};
  ExpectRefused(WriteAndMatch(), absl::StatusCode::kInvalidArgument,
                {"(mxfp4)", "remove quantization_config"});
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
  // Every parameter that is counted lies in the file, and no other.
  uint64_t elements = 0;
  for (const ModelFiles::Location& location : files->tensors()) {
    elements += location.tensor->bytes().value() * 8 / BitsOf(location.tensor->dtype);
  }
  for (const ModelFiles::Location* other : matched->others) {
    elements -= other->tensor->bytes().value() * 8 / BitsOf(other->tensor->dtype);
  }
  EXPECT_EQ(elements, CountParameters(stages).total);
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

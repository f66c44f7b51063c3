#include "model/files/disk_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "model/files/model_folder_writer.h"
#include "tests/model/model_specs.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ModelSpec SpecOf(const std::string& text) {
  absl::StatusOr<ModelConfig> config = ReadConfigText(text);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? config->spec : ModelSpec{};
}

// q has 12 rows of 12, k and v have 4; gate and up have 7.
ModelSpec OddPhi3() {
  return SpecOf(R"({"model_type": "phi3", "hidden_size": 12, "num_attention_heads": 3,
      "num_key_value_heads": 1, "intermediate_size": 7, "vocab_size": 11, "num_hidden_layers": 2,
      "pad_token_id": 0})");
}

ModelSpec Wrapped() {
  return SpecOf(R"({"model_type": "mistral3", "tie_word_embeddings": false, "text_config":
      {"model_type": "mistral", "hidden_size": 8, "num_attention_heads": 2, "head_dim": 4,
       "num_key_value_heads": 1, "intermediate_size": 6, "vocab_size": 10, "num_hidden_layers": 1,
       "sliding_window": null}})");
}

std::vector<std::string> NamesOf(const std::vector<DiskTensor>& tensors) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const DiskTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

TEST(DiskTensors, NamesDifferInWhatTheyBeginWith) {
  const std::string layer = "model.layers.0.mlp.up_proj.weight";
  const std::string head = "lm_head.weight";
  EXPECT_EQ(DiskName(layer, DiskNaming::kPlain), layer);
  EXPECT_EQ(DiskName(head, DiskNaming::kPlain), head);
  EXPECT_EQ(DiskName(layer, DiskNaming::kLanguageModel),
            "language_model.model.layers.0.mlp.up_proj.weight");
  EXPECT_EQ(DiskName(head, DiskNaming::kLanguageModel), "language_model.lm_head.weight");
  EXPECT_EQ(DiskName(layer, DiskNaming::kNested),
            "model.language_model.layers.0.mlp.up_proj.weight");
  EXPECT_EQ(DiskName(head, DiskNaming::kNested), "lm_head.weight");
}

TEST(DiskTensors, FusedTensorsAreListedOnceWithTheirPartsInOrder) {
  const std::vector<Stage> stages = ListStages(OddPhi3());
  const std::vector<DiskTensor> tensors = ListDiskTensors(stages, DiskNaming::kPlain);
  const auto names = [](const std::string& layer) {
    const std::string prefix = StrCat("model.layers.", layer, ".");
    return std::vector<std::string>{
        prefix + "input_layernorm.weight",  prefix + "self_attn.qkv_proj.weight",
        prefix + "self_attn.o_proj.weight", prefix + "post_attention_layernorm.weight",
        prefix + "mlp.gate_up_proj.weight", prefix + "mlp.down_proj.weight"};
  };
  std::vector<std::string> wanted = {"model.embed_tokens.weight"};
  for (const std::string layer : {"0", "1"}) {
    for (const std::string& name : names(layer)) wanted.push_back(name);
  }
  wanted.insert(wanted.end(), {"model.norm.weight", "lm_head.weight"});
  EXPECT_EQ(NamesOf(tensors), wanted);

  const DiskTensor& qkv = tensors[2];
  EXPECT_THAT(qkv.shape, ElementsAre(20, 12));
  ASSERT_EQ(qkv.parts.size(), 3u);
  EXPECT_EQ(qkv.parts[0].tensor->role, TensorRole::kQuery);
  EXPECT_EQ(qkv.parts[1].tensor->role, TensorRole::kKey);
  EXPECT_EQ(qkv.parts[2].tensor->role, TensorRole::kValue);
  EXPECT_EQ(qkv.parts[0].first, 0u);
  EXPECT_EQ(qkv.parts[1].first, 144u);
  EXPECT_EQ(qkv.parts[2].first, 192u);
  const DiskTensor& gate_up = tensors[5];
  EXPECT_THAT(gate_up.shape, ElementsAre(14, 12));
  ASSERT_EQ(gate_up.parts.size(), 2u);
  EXPECT_EQ(gate_up.parts[1].tensor->role, TensorRole::kUp);
  EXPECT_EQ(gate_up.parts[1].first, 84u);
}

// Layer 0 is dense, layer 1 has 3 experts of 7.
ModelSpec Qwen3Moe() {
  return SpecOf(R"({"model_type": "qwen3_moe", "hidden_size": 20, "head_dim": 6,
      "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24,
      "vocab_size": 11, "moe_intermediate_size": 7, "num_hidden_layers": 2, "num_experts": 3,
      "num_experts_per_tok": 2, "mlp_only_layers": [0]})");
}

const DiskTensor& Named(const std::vector<DiskTensor>& tensors, std::string_view name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const DiskTensor& tensor) { return tensor.name == name; });
  EXPECT_NE(found, tensors.end()) << name;
  return found == tensors.end() ? tensors.front() : *found;
}

TEST(DiskTensors, FusedExpertsAreGateAndUpOfEachAndThenDownOfEach) {
  const std::vector<Stage> stages = ListStages(Qwen3Moe());
  const std::vector<DiskTensor> tensors =
      ListDiskTensors(stages, DiskNaming::kPlain, ExpertLayout::kFused);
  const std::string layer = "model.layers.1.mlp.";
  const DiskTensor& gate_up = Named(tensors, layer + "experts.gate_up_proj");
  EXPECT_THAT(gate_up.shape, ElementsAre(3, 14, 20));
  std::vector<std::string> parts;
  for (const DiskPart& part : gate_up.parts) {
    EXPECT_EQ(part.first, parts.size() * 140);
    parts.push_back(part.tensor->name.substr(layer.size()));
  }
  EXPECT_THAT(parts, ElementsAre("experts.0.gate_proj.weight", "experts.0.up_proj.weight",
                                 "experts.1.gate_proj.weight", "experts.1.up_proj.weight",
                                 "experts.2.gate_proj.weight", "experts.2.up_proj.weight"));
  const DiskTensor& down = Named(tensors, layer + "experts.down_proj");
  EXPECT_THAT(down.shape, ElementsAre(3, 20, 7));
  ASSERT_EQ(down.parts.size(), 3u);
  EXPECT_EQ(down.parts[2].tensor->name, layer + "experts.2.down_proj.weight");
  EXPECT_EQ(down.parts[2].first, 280u);
  EXPECT_THAT(Named(tensors, layer + "gate.weight").shape, ElementsAre(3, 20));
  // Of a dense layer nothing is fused.
  EXPECT_THAT(Named(tensors, "model.layers.0.mlp.gate_proj.weight").shape, ElementsAre(24, 20));
  EXPECT_EQ(tensors.size(), ListDiskTensors(stages, DiskNaming::kPlain).size() - 9 + 2);
}

TEST(DiskTensors, FusedExpertsHaveTheSameNamesInEveryFamily) {
  const std::vector<Stage> stages = ListStages(TinySpec("mixtral"));
  const std::vector<std::string> usual = NamesOf(ListDiskTensors(stages, DiskNaming::kPlain));
  const std::vector<std::string> fused =
      NamesOf(ListDiskTensors(stages, DiskNaming::kPlain, ExpertLayout::kFused));
  EXPECT_THAT(usual, Contains("model.layers.1.block_sparse_moe.gate.weight"));
  EXPECT_THAT(usual, Contains("model.layers.1.block_sparse_moe.experts.3.w2.weight"));
  for (const std::string name : {"gate.weight", "experts.gate_up_proj", "experts.down_proj"}) {
    EXPECT_THAT(fused, Contains("model.layers.1.mlp." + name));
  }
  EXPECT_THAT(fused, Not(Contains(HasSubstr("block_sparse_moe"))));
  // gpt_oss has one layout, in which all experts are one tensor anyway.
  const std::vector<Stage> gpt_oss = ListStages(TinySpec("gpt_oss"));
  EXPECT_EQ(NamesOf(ListDiskTensors(gpt_oss, DiskNaming::kPlain, ExpertLayout::kFused)),
            NamesOf(ListDiskTensors(gpt_oss, DiskNaming::kPlain)));
}

// Parts need not be listed in the order in which they lie, nor side by side.
TEST(DiskTensors, BiasesAreFusedLikeMatrices) {
  const FusedPlace whole{.name = "model.layers.0.qkv.bias", .shape = {7}};
  const auto part = [&](const std::string& name, uint64_t parameters, uint64_t first) {
    TensorSpec tensor{.name = name, .fused = whole, .shape = {static_cast<int64_t>(parameters)}};
    tensor.parameters = parameters;
    tensor.fused->first = first;
    return tensor;
  };
  Stage stage;
  stage.tensors = {part("model.v", 1, 6), part("model.q", 4, 0),
                   TensorSpec{.name = "model.norm", .shape = {3}, .parameters = 3},
                   part("model.k", 2, 4)};
  const std::vector<Stage> stages = {stage};
  const std::vector<DiskTensor> tensors = ListDiskTensors(stages, DiskNaming::kLanguageModel);
  EXPECT_THAT(NamesOf(tensors),
              ElementsAre("language_model.model.layers.0.qkv.bias", "language_model.model.norm"));
  EXPECT_THAT(tensors[0].shape, ElementsAre(7));
  std::vector<std::string> parts;
  for (const DiskPart& found : tensors[0].parts) parts.push_back(found.tensor->name);
  EXPECT_THAT(parts, ElementsAre("model.q", "model.k", "model.v"));
}

TEST(DiskTensors, EveryRangeConsistsOfTheElementsItShould) {
  const std::vector<Stage> stages = ListStages(OddPhi3());
  for (const DiskTensor& tensor : ListDiskTensors(stages, DiskNaming::kPlain)) {
    // Where each element of the whole is.
    std::vector<std::pair<const TensorSpec*, uint64_t>> elements;
    for (const DiskPart& part : tensor.parts) {
      for (uint64_t i = 0; i < part.tensor->parameters; ++i) elements.emplace_back(part.tensor, i);
    }
    for (uint64_t first = 0; first <= elements.size(); first += 1 + first % 5) {
      for (uint64_t count = 0; count <= elements.size() - first; count += 1 + count % 7) {
        uint64_t at = 0;
        for (const PartRange& range : PartsOfRange(tensor, first, count)) {
          ASSERT_EQ(range.offset, at);
          ASSERT_GT(range.count, 0u);
          for (uint64_t i = 0; i < range.count; ++i, ++at) {
            ASSERT_EQ(elements[first + at], std::pair(range.tensor, range.first + i));
          }
        }
        ASSERT_EQ(at, count) << tensor.name << " " << first;
      }
    }
  }
}

TEST(DiskTensors, EveryParameterOfEveryFamilyLiesInOneTensor) {
  for (const std::string_view family : TestedFamilies()) {
    for (const ExpertLayout experts : {ExpertLayout::kUsual, ExpertLayout::kFused}) {
      const std::vector<Stage> stages = ListStages(TinySpec(family));
      std::set<std::string> names;
      uint64_t parameters = 0;
      for (const DiskTensor& tensor : ListDiskTensors(stages, DiskNaming::kPlain, experts)) {
        EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
        uint64_t elements = 1;
        for (const int64_t length : tensor.shape) elements *= static_cast<uint64_t>(length);
        uint64_t sum = 0;
        for (const DiskPart& part : tensor.parts) sum += part.tensor->parameters;
        EXPECT_EQ(sum, elements) << tensor.name;
        parameters += sum;
      }
      EXPECT_EQ(parameters, CountParameters(stages).total) << family;
    }
  }
}

class Naming : public testing::Test {
 protected:
  // The naming of a folder that holds tensors of these names.
  absl::StatusOr<DiskNaming> Find(const ModelSpec& spec, const std::vector<std::string>& names) {
    const std::string folder = Write(names);
    const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io_, folder);
    EXPECT_TRUE(files.ok()) << files.status();
    return FindNaming(spec, ListStages(spec), *files);
  }
  // A folder with a byte under each name.
  std::string Write(const std::vector<std::string>& names) {
    std::string folder = JoinPath(folder_, StrCat("model", folders_++));
    EXPECT_TRUE(io_->MakeDirectory(folder).ok());
    std::vector<TensorDeclaration> tensors;
    tensors.reserve(names.size());
    for (const std::string& name : names) tensors.push_back({name, Dtype::kU8, {1}});
    const absl::Status written = WriteModelFolder(
        *io_, folder, tensors, [](const auto&, uint64_t, auto) { return absl::OkStatus(); });
    EXPECT_TRUE(written.ok()) << written;
    return folder;
  }
  std::vector<std::string> Names(const ModelSpec& spec, DiskNaming naming) {
    const std::vector<Stage> stages = ListStages(spec);
    return NamesOf(ListDiskTensors(stages, naming));
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
  int folders_ = 0;
};

TEST_F(Naming, IsThatOfTheFiles) {
  const ModelSpec spec = Wrapped();
  for (const DiskNaming naming : {DiskNaming::kLanguageModel, DiskNaming::kNested}) {
    std::vector<std::string> names = Names(spec, naming);
    names.emplace_back("vision_tower.norm");
    names.emplace_back("model.vision_tower.norm");
    const absl::StatusOr<DiskNaming> found = Find(spec, names);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(*found, naming);
  }
  EXPECT_EQ(*Find(spec, {"vision_tower.norm"}), DiskNaming::kLanguageModel);
  ModelSpec plain = spec;
  plain.wrapper.clear();
  EXPECT_EQ(*Find(plain, Names(spec, DiskNaming::kNested)), DiskNaming::kPlain);
}

TEST_F(Naming, OfTwoKindsIsRefusedWithATensorOfEach) {
  const ModelSpec spec = Wrapped();
  for (const DiskNaming naming : {DiskNaming::kLanguageModel, DiskNaming::kNested}) {
    for (const DiskNaming other :
         {DiskNaming::kLanguageModel, DiskNaming::kNested, DiskNaming::kPlain}) {
      if (other == naming) continue;
      std::vector<std::string> names = Names(spec, naming);
      names.push_back(DiskName("model.norm.weight", other));
      const absl::Status status = Find(spec, names).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(Names(spec, naming)[0]), HasSubstr("model.safetensors"),
                        HasSubstr(StrCat("\"", DiskName("model.norm.weight", other), "\""))));
    }
  }
}

TEST_F(Naming, OfATextModelUnderTheConfigOfAMultimodalOneIsRefused) {
  const ModelSpec spec = Wrapped();
  const absl::Status status = Find(spec, Names(spec, DiskNaming::kPlain)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("mistral3"), HasSubstr("\"model.embed_tokens.weight\""),
                    HasSubstr("text_config")));
}

class Experts : public Naming {
 protected:
  absl::StatusOr<ExpertLayout> FindExperts(const ModelSpec& spec,
                                           const std::vector<std::string>& names) {
    const std::string folder = Write(names);
    const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io_, folder);
    EXPECT_TRUE(files.ok()) << files.status();
    return FindExpertLayout(ListStages(spec), DiskNaming::kPlain, *files);
  }
  std::vector<std::string> Names(const ModelSpec& spec, ExpertLayout experts) {
    const std::vector<Stage> stages = ListStages(spec);
    return NamesOf(ListDiskTensors(stages, DiskNaming::kPlain, experts));
  }
};

TEST_F(Experts, AreInTheLayoutOfTheFiles) {
  for (const ModelSpec& spec : {Qwen3Moe(), TinySpec("mixtral"), TinySpec("llama")}) {
    EXPECT_EQ(*FindExperts(spec, Names(spec, ExpertLayout::kUsual)), ExpertLayout::kUsual);
    EXPECT_EQ(*FindExperts(spec, {"model.norm.weight"}), ExpertLayout::kUsual);
    if (spec.family == "llama") continue;
    EXPECT_EQ(*FindExperts(spec, Names(spec, ExpertLayout::kFused)), ExpertLayout::kFused);
    EXPECT_EQ(*FindExperts(spec, {"model.layers.1.mlp.experts.down_proj"}), ExpertLayout::kFused);
  }
}

TEST_F(Experts, InTwoLayoutsAreRefusedWithATensorOfEach) {
  for (const ModelSpec& spec : {Qwen3Moe(), TinySpec("mixtral")}) {
    std::vector<std::string> names = Names(spec, ExpertLayout::kUsual);
    const std::string fused = "model.layers.1.mlp.experts.down_proj";
    names.push_back(fused);
    const absl::Status status = FindExperts(spec, names).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("stored in two ways"), HasSubstr("model.safetensors"),
                      HasSubstr(StrCat("\"", fused, "\"")),
                      HasSubstr(spec.family == "mixtral"
                                    ? "\"model.layers.0.block_sparse_moe.gate.weight\""
                                    : "\"model.layers.1.mlp.experts.0.gate_proj.weight\"")));
  }
  // The router of one and the experts of the other.
  EXPECT_FALSE(FindExperts(TinySpec("mixtral"), {"model.layers.0.mlp.experts.down_proj",
                                                 "model.layers.0.block_sparse_moe.gate.weight"})
                   .ok());
}

TEST(DiskTensors, WhatBelongsToTheTextPartIsKnownByItsPrefix) {
  for (const char* name : {"language_model.model.x", "language_model.lm_head.weight",
                           "model.language_model.layers.0", "lm_head.weight"}) {
    EXPECT_TRUE(IsTextPartName(name)) << name;
  }
  for (const char* name : {"vision_tower.language_model.x", "multi_modal_projector.linear_1.weight",
                           "model.vision_tower.x", "model.norm.weight", "language_modelx", ""}) {
    EXPECT_FALSE(IsTextPartName(name)) << name;
  }
}

}  // namespace
}  // namespace horizon

#include "model/trained_tensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "tests/model/model_specs.h"

namespace horizon {
namespace {

using Names = std::vector<std::string>;

Names NamesOf(const ModelSpec& spec, const Names& train, const Names& freeze = {}) {
  const absl::StatusOr<Names> names = TrainedNames(spec, {.train = train, .freeze = freeze});
  EXPECT_TRUE(names.ok()) << names.status();
  return names.ok() ? *names : Names{};
}

std::string RefusalOf(const ModelSpec& spec, const Names& train, const Names& freeze = {}) {
  const absl::Status status = TrainedNames(spec, {.train = train, .freeze = freeze}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(TrainedTensors, WithoutPatternsEverythingIsTrained) {
  const ModelSpec spec = TinySpec("llama");
  size_t tensors = 0;
  for (const Stage& stage : ListStages(spec)) {
    tensors += stage.tensors.size();
    EXPECT_EQ(stage.trained_parameters, stage.parameters);
    EXPECT_EQ(stage.needs_input_gradient, stage.kind != StageKind::kEmbedding);
  }
  EXPECT_EQ(NamesOf(spec, {}).size(), tensors);
}

TEST(TrainedTensors, PatternsAreGlobsOverWholeNames) {
  const ModelSpec spec = TinySpec("llama");
  EXPECT_EQ(
      NamesOf(spec, {"model.layers.1.self_attn.[qk]_proj.weight"}),
      (Names{"model.layers.1.self_attn.q_proj.weight", "model.layers.1.self_attn.k_proj.weight"}));
  EXPECT_EQ(NamesOf(spec, {"*layers.?.mlp.*"}, {"*up*", "*layers.0*"}),
            (Names{"model.layers.1.mlp.gate_proj.weight", "model.layers.1.mlp.down_proj.weight"}));
  EXPECT_EQ(NamesOf(spec, {"model.norm.weight", "lm_head.weight"}),
            (Names{"model.norm.weight", "lm_head.weight"}));
}

TEST(TrainedTensors, FreezeIsStrongerThanTrain) {
  const ModelSpec spec = TinySpec("llama");
  EXPECT_EQ(NamesOf(spec, {"*norm*"}, {"model.layers.*"}), Names{"model.norm.weight"});
}

TEST(TrainedTensors, ATiedTableGoesByBothNames) {
  ModelSpec spec = TinySpec("llama");
  spec.tied = true;
  EXPECT_EQ(NamesOf(spec, {"lm_head.weight"}), Names{"model.embed_tokens.weight"});
  EXPECT_EQ(NamesOf(spec, {"model.embed_tokens.weight"}), Names{"model.embed_tokens.weight"});
  const Names frozen = {"lm_head.weight"};
  std::vector<Stage> stages = ListStages(spec);
  const Names none;
  ASSERT_TRUE(SelectTrained(spec, {.train = none, .freeze = frozen}, stages).ok());
  EXPECT_TRUE(stages.back().trained_roles.none());
  EXPECT_EQ(stages.front().trained_parameters, 0u);
}

TEST(TrainedTensors, PartsOfAFusedTensorGoByItsName) {
  const ModelSpec spec = TinySpec("phi3");
  EXPECT_EQ(
      NamesOf(spec, {"model.layers.0.self_attn.qkv_proj.weight"}),
      (Names{"model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight",
             "model.layers.0.self_attn.v_proj.weight"}));
}

TEST(TrainedTensors, TheTextPartOfAMultimodalModelGoesByItsNamesInTheWhole) {
  ModelSpec spec = TinySpec("llama");
  spec.wrapper = "some";
  const Names wanted = {"model.layers.0.mlp.up_proj.weight"};
  EXPECT_EQ(NamesOf(spec, {"language_model.model.layers.0.mlp.up_proj.weight"}), wanted);
  EXPECT_EQ(NamesOf(spec, {"model.language_model.layers.0.mlp.up_proj.weight"}), wanted);
}

TEST(TrainedTensors, APatternThatMatchesNothingNamesTheNearest) {
  const ModelSpec spec = TinySpec("llama");
  EXPECT_EQ(RefusalOf(spec, {"model.layers.0.mlp.up_proj.wieght"}),
            "train: no tensor matches \"model.layers.0.mlp.up_proj.wieght\"; did you mean "
            "\"model.layers.0.mlp.up_proj.weight\"?");
  // A part of a name is no name; what would match is told.
  EXPECT_EQ(RefusalOf(spec, {}, {"embed_tokens"}),
            "freeze: no tensor matches \"embed_tokens\"; \"*embed_tokens*\" would match "
            "model.embed_tokens.weight");
  EXPECT_EQ(RefusalOf(spec, {}, {"*vision*"}),
            "freeze: no tensor matches \"*vision*\"; names are like model.embed_tokens.weight, "
            "model.layers.1.input_layernorm.weight, lm_head.weight");
  // One that matches does not excuse another.
  EXPECT_NE(RefusalOf(spec, {"*norm*", "*nrom*"}).find("\"*nrom*\""), std::string::npos);
}

TEST(TrainedTensors, FreezingEverythingIsRefused) {
  EXPECT_NE(RefusalOf(TinySpec("llama"), {}, {"*"}).find("nothing would be trained"),
            std::string::npos);
  EXPECT_NE(RefusalOf(TinySpec("llama"), {"*norm*"}, {"*norm*"}).find("all 21 tensors"),
            std::string::npos);
}

TEST(TrainedTensors, BackwardGoesAsDeepAsTheLowestTrainedTensor) {
  ModelSpec spec = TinySpec("qwen3");
  const auto depths = [&](const Names& train) {
    std::vector<Stage> stages = ListStages(spec);
    const Names none;
    EXPECT_TRUE(SelectTrained(spec, {.train = train, .freeze = none}, stages).ok());
    std::vector<BackwardDepth> found;
    found.reserve(stages.size());
    for (const Stage& stage : stages) found.push_back(stage.backward_depth());
    return found;
  };
  using enum BackwardDepth;
  using Depths = std::vector<BackwardDepth>;
  // Embedding, attention and feed-forward of two layers, final norm, head.
  EXPECT_EQ(depths({"model.layers.1.self_attn.k_norm.weight"}),
            (Depths{kNone, kNone, kNone, kInputProjections, kInput, kInput, kInput}));
  EXPECT_EQ(depths({"model.layers.0.mlp.down_proj.weight", "lm_head.weight"}),
            (Depths{kNone, kNone, kOutputProjection, kInput, kInput, kInput, kInput}));
  EXPECT_EQ(depths({"model.norm.weight"}),
            (Depths{kNone, kNone, kNone, kNone, kNone, kNorm, kInput}));
  EXPECT_EQ(depths({"lm_head.weight"}),
            (Depths{kNone, kNone, kNone, kNone, kNone, kNone, kOutputProjection}));
  EXPECT_EQ(depths({"model.embed_tokens.weight"}),
            (Depths{kOutputProjection, kInput, kInput, kInput, kInput, kInput, kInput}));
  // The gradient of a sink needs that of what the output projection reads.
  spec.attention_sinks = true;
  EXPECT_EQ(depths({"model.layers.1.self_attn.sinks"}),
            (Depths{kNone, kNone, kNone, kInputProjections, kInput, kInput, kInput}));
}

RC_GTEST_PROP(TrainedTensors, TrainedParametersOfAnyUnitsAddUp, ()) {
  const ModelSpec spec = *AnySpec();
  std::vector<Stage> stages = ListStages(spec);
  std::vector<std::string> freeze;
  for (const Stage& stage : stages) {
    for (const TensorSpec& tensor : stage.tensors) {
      if (*rc::gen::arbitrary<bool>()) freeze.push_back(tensor.name);
    }
  }
  const std::vector<std::string> all;
  if (!SelectTrained(spec, {.train = all, .freeze = freeze}, stages).ok()) {
    RC_DISCARD("everything is frozen");
  }
  for (const Stage& stage : stages) {
    uint64_t trained = 0;
    for (const TensorSpec& tensor : stage.tensors)
      trained += tensor.trained ? tensor.parameters : 0;
    RC_ASSERT(stage.trained_parameters == trained);
    const int64_t cut = *rc::gen::inRange<int64_t>(0, stage.units + 1);
    RC_ASSERT(TrainedInUnits(stage, {0, cut}) + TrainedInUnits(stage, {cut, stage.units}) ==
              trained);
    RC_ASSERT(TrainedInUnits(stage, {0, cut}) <= ParametersInUnits(stage, {0, cut}));
  }
}

}  // namespace
}  // namespace horizon

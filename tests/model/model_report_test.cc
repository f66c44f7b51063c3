#include "model/model_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/documents/json.h"
#include "common/files/io.h"
#include "model/load_model_spec.h"
#include "model/stage_memory.h"
#include "model/stages.h"
#include "tests/model/model_specs.h"

namespace horizon {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr TokenBatch kTokens{.batch = 2, .sequence = 5};

ModelSpec Known(const std::string& name) {
  return LoadModelSpec(*MakePosixIo(), name).value().spec;
}

Document Json(const ModelSpec& spec, TokenBatch tokens = kTokens) {
  return ParseJson("report", ModelReportJson(spec, tokens)).value();
}

int64_t IntegerIn(const Value& object, std::string_view key) {
  const Value* value = object.Find(key);
  EXPECT_TRUE(value != nullptr && value->As<int64_t>() != nullptr) << key;
  return value != nullptr && value->As<int64_t>() != nullptr ? *value->As<int64_t>() : -1;
}

TEST(ModelReportText, GroupsEqualLayers) {
  const std::string text = ModelReportText(Known("qwen2.5-7b"), {1, 4096});
  EXPECT_THAT(text, HasSubstr("qwen2.5-7b (qwen2): 7,615,616,512 parameters"));
  EXPECT_THAT(text, HasSubstr("\nattention_0..27        28"));
  EXPECT_THAT(text, HasSubstr("\nfeed_forward_0..27     28"));
  EXPECT_THAT(text, Not(HasSubstr("attention_1 ")));
  EXPECT_THAT(text, HasSubstr("1 x 4096 tokens"));
}

TEST(ModelReportText, TellsLayersApartThatDiffer) {
  const std::string text = ModelReportText(Known("gpt-oss-20b"), {1, 4096});
  EXPECT_THAT(text, HasSubstr("attention_0,2..22 "));
  EXPECT_THAT(text, HasSubstr("attention_1,3..23 "));
  EXPECT_THAT(text, HasSubstr("experts_0..23 "));
  EXPECT_THAT(text, HasSubstr("sliding window of 128 tokens in 12 of 24 layers"));
  ModelSpec mixed = TinySpec("qwen3_moe");
  mixed.intermediate = 100;
  mixed.layers.resize(7, mixed.layers[0]);
  for (size_t layer : {0, 2, 3}) mixed.layers[layer].has_experts = false;
  mixed.layers[6].has_experts = false;
  const std::string uneven = ModelReportText(mixed, kTokens);
  EXPECT_THAT(uneven, HasSubstr("feed_forward_0,2,3.. "));
  EXPECT_THAT(uneven, HasSubstr("experts_1,4,5 "));
}

TEST(ModelReportText, SaysOverflowInsteadOfAWrongNumber) {
  ModelSpec spec = TinySpec("llama");
  spec.hidden = int64_t{1} << 28;
  spec.intermediate = int64_t{1} << 30;
  EXPECT_THAT(ModelReportText(spec, {1, int64_t{1} << 20}), HasSubstr("overflow"));
  const Document json = Json(spec, {1, int64_t{1} << 20});
  EXPECT_TRUE(json.root.Find("forward_flops")->is_null());
}

TEST(ModelReportJson, ListsEveryStageAndTensor) {
  for (std::string_view family : TestedFamilies()) {
    const ModelSpec spec = TinySpec(family);
    const std::vector<Stage> stages = ListStages(spec);
    const Document json = Json(spec);
    const auto& listed = *json.root.Find("stages")->As<Value::Array>();
    ASSERT_EQ(listed.size(), stages.size());
    int64_t parameters = 0;
    int64_t flops = 0;
    for (size_t i = 0; i < stages.size(); ++i) {
      EXPECT_EQ(*listed[i].Find("name")->As<std::string>(), stages[i].name);
      EXPECT_EQ(*listed[i].Find("kind")->As<std::string>(), ToString(stages[i].kind));
      EXPECT_EQ(listed[i].Find("layer")->is_null(), stages[i].layer < 0);
      EXPECT_EQ(listed[i].Find("tensors")->As<Value::Array>()->size(), stages[i].tensors.size());
      EXPECT_EQ(IntegerIn(listed[i], "bytes"), 2 * IntegerIn(listed[i], "parameters"));
      parameters += IntegerIn(listed[i], "parameters");
      flops += IntegerIn(listed[i], "backward_flops");
    }
    EXPECT_EQ(IntegerIn(json.root, "parameters"), parameters);
    EXPECT_EQ(IntegerIn(json.root, "backward_flops"), flops);
  }
}

TEST(ModelReportJson, HasTheModelsNumbers) {
  const ModelSpec spec = TinySpec("mixtral");
  const Document json = Json(spec);
  EXPECT_EQ(*json.root.Find("name")->As<std::string>(), "test");
  EXPECT_EQ(*json.root.Find("family")->As<std::string>(), "mixtral");
  EXPECT_EQ(IntegerIn(json.root, "layers"), 2);
  EXPECT_EQ(IntegerIn(json.root, "hidden"), 64);
  EXPECT_EQ(IntegerIn(json.root, "vocab"), 320);
  EXPECT_EQ(IntegerIn(json.root, "experts"), 4);
  EXPECT_FALSE(*json.root.Find("tied")->As<bool>());
  EXPECT_LT(IntegerIn(json.root, "active_parameters"), IntegerIn(json.root, "parameters"));
  const Value& experts = (*json.root.Find("stages")->As<Value::Array>())[2];
  const Value& bytes = *experts.Find("activation_bytes");
  const uint64_t kept = KeptActivationBytes(spec, StageKind::kExperts, kTokens, 2_B).value();
  EXPECT_EQ(IntegerIn(bytes, "kept"), static_cast<int64_t>(kept));
  EXPECT_EQ(IntegerIn(bytes, "recomputed"),
            static_cast<int64_t>(kept) - kTokens.tokens() * spec.hidden * 2);
  EXPECT_EQ(
      IntegerIn(bytes, "transient"),
      static_cast<int64_t>(
          WorkspaceBytes(spec, StageKind::kExperts, kTokens, 2_B, PassesOver::kTraining).value()));
}

}  // namespace
}  // namespace horizon

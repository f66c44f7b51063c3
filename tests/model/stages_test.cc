#include "model/stages.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "tests/model/model_specs.h"

namespace horizon {
namespace {

std::vector<std::string> NamesOf(const std::vector<Stage>& stages) {
  std::vector<std::string> names;
  names.reserve(stages.size());
  for (const Stage& stage : stages) names.push_back(stage.name);
  return names;
}

const TensorSpec& TensorOf(const Stage& stage, std::string_view name) {
  for (const TensorSpec& tensor : stage.tensors) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << stage.name << " has no tensor " << name;
  static const TensorSpec kNone;
  return kNone;
}

// The same count, tensor by tensor from the shapes and the rules of TensorSpec.
uint64_t CountByTensor(const Stage& stage, UnitRange range) {
  uint64_t count = 0;
  for (const TensorSpec& tensor : stage.tensors) {
    uint64_t product = 1;
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      int64_t length = tensor.shape[axis];
      if (static_cast<int>(axis) == tensor.split_axis) {
        length = length / stage.units * (range.end - range.begin);
      }
      product *= static_cast<uint64_t>(length);
    }
    const bool whole = tensor.split_axis < 0;
    if (whole && (tensor.unit < range.begin || tensor.unit >= range.end)) continue;
    count += product;
  }
  return count;
}

TEST(Stages, AreInForwardOrder) {
  EXPECT_EQ(NamesOf(ListStages(TinySpec("llama"))),
            (std::vector<std::string>{"embedding", "attention_0", "feed_forward_0", "attention_1",
                                      "feed_forward_1", "final_norm", "head"}));
  ModelSpec mixed = TinySpec("qwen3_moe");
  mixed.intermediate = 30;
  mixed.layers[1].has_experts = false;
  EXPECT_EQ(NamesOf(ListStages(mixed)),
            (std::vector<std::string>{"embedding", "attention_0", "experts_0", "attention_1",
                                      "feed_forward_1", "final_norm", "head"}));
}

TEST(Stages, ATiedHeadHasUnitsButNoParameters) {
  ModelSpec spec = TinySpec("qwen2");
  const std::vector<Stage> untied = ListStages(spec);
  spec.tied = true;
  const std::vector<Stage> tied = ListStages(spec);
  EXPECT_EQ(untied.back().parameters, 320u * 64);
  EXPECT_EQ(tied.back().parameters, 0u);
  EXPECT_EQ(tied.back().active_parameters, 0u);
  EXPECT_TRUE(tied.back().tensors.empty());
  EXPECT_EQ(tied.back().units, 320);
  EXPECT_EQ(tied.back().unit_tile, 512);
  EXPECT_EQ(CountParameters(untied).total - CountParameters(tied).total, 320u * 64);
}

TEST(Stages, MatricesDecayAndVectorsDoNot) {
  const std::vector<Stage> stages = ListStages(TinySpec("gpt_oss"));
  const std::map<std::string, bool> expected = {{"mlp.experts.gate_up_proj", true},
                                                {"mlp.experts.gate_up_proj_bias", false},
                                                {"mlp.experts.down_proj", true},
                                                {"mlp.experts.down_proj_bias", false},
                                                {"mlp.router.weight", true},
                                                {"mlp.router.bias", false},
                                                {"post_attention_layernorm.weight", false}};
  for (const auto& [name, decays] : expected) {
    EXPECT_EQ(TensorOf(stages[2], "model.layers.0." + name).decays, decays) << name;
  }
  EXPECT_FALSE(TensorOf(stages[1], "model.layers.0.self_attn.sinks").decays);
  EXPECT_TRUE(TensorOf(stages[0], "model.embed_tokens.weight").decays);
}

// The names of a stage's tensors by unit: "norm q qb | k kb | ...".
std::string UnitsOf(const Stage& stage) {
  std::string text;
  int64_t unit = 0;
  for (const TensorSpec& tensor : stage.tensors) {
    EXPECT_EQ(tensor.split_axis, -1) << tensor.name;
    EXPECT_LE(unit, tensor.unit) << "the tensors of a unit lie together: " << tensor.name;
    for (; unit < tensor.unit; ++unit) text += " |";
    text += StrCat(text.empty() ? "" : " ", tensor.name.substr(tensor.name.find('0') + 2));
  }
  return text;
}

// With its bias and its norm, and with the norm of the stage's input where that is read first.
TEST(Stages, ALayerIsCutBetweenMatrices) {
  const Stage attention = ListStages(TinySpec("gpt_oss"))[1];
  EXPECT_EQ(attention.units, 4);
  EXPECT_EQ(attention.unit_tile, 1);
  EXPECT_EQ(UnitsOf(attention),
            "input_layernorm.weight self_attn.q_proj.weight self_attn.q_proj.bias | "
            "self_attn.k_proj.weight self_attn.k_proj.bias | self_attn.v_proj.weight "
            "self_attn.v_proj.bias | self_attn.o_proj.weight self_attn.o_proj.bias "
            "self_attn.sinks");
  EXPECT_EQ(ParametersInUnits(attention, {0, 1}), 64u + 64 * 64 + 64);
  EXPECT_EQ(ParametersInUnits(attention, {1, 3}), 2u * (32 * 64 + 32));
  EXPECT_EQ(ParametersInUnits(attention, {3, 4}), 64u * 64 + 64 + 4);
  const Stage with_norms = ListStages(TinySpec("qwen3"))[1];
  EXPECT_EQ(UnitsOf(with_norms),
            "input_layernorm.weight self_attn.q_proj.weight self_attn.q_norm.weight | "
            "self_attn.k_proj.weight self_attn.k_norm.weight | self_attn.v_proj.weight | "
            "self_attn.o_proj.weight");
  const Stage feed_forward = ListStages(TinySpec("llama"))[2];
  EXPECT_EQ(feed_forward.units, 3);
  EXPECT_EQ(UnitsOf(feed_forward),
            "post_attention_layernorm.weight mlp.gate_proj.weight | mlp.up_proj.weight | "
            "mlp.down_proj.weight");
}

TEST(Stages, ExpertsCountTheChosenOnesAsActive) {
  const Stage experts = ListStages(TinySpec("mixtral"))[2];
  EXPECT_EQ(experts.parameters, 64u + 4 * 64 + 4 * 3 * 64 * 176);
  EXPECT_EQ(experts.active_parameters, 64u + 4 * 64 + 2 * 3 * 64 * 176);
  EXPECT_EQ(ParametersInUnits(experts, {3, 4}), 3u * 64 * 176);
}

TEST(Stages, AnEmptyRangeHasNothing) {
  for (const Stage& stage : ListStages(TinySpec("llama"))) {
    EXPECT_EQ(ParametersInUnits(stage, {0, 0}), 0u) << stage.name;
    EXPECT_EQ(ParametersInUnits(stage, {stage.units, stage.units}), 0u) << stage.name;
  }
}

RC_GTEST_PROP(StagesProperty, RangesOfAPartitionAddUpToTheStage, ()) {
  const ModelSpec spec = *AnySpec();
  RC_ASSERT(ValidateSpec(spec).ok());
  for (const Stage& stage : ListStages(spec)) {
    uint64_t sum = 0;
    int64_t begin = 0;
    while (begin < stage.units) {
      const int64_t end = *rc::gen::inRange<int64_t>(begin + 1, stage.units + 1);
      const uint64_t part = ParametersInUnits(stage, {begin, end});
      RC_ASSERT(part == CountByTensor(stage, {begin, end}));
      sum += part;
      begin = end;
    }
    RC_ASSERT(sum == stage.parameters);
    RC_ASSERT(stage.active_parameters <= stage.parameters);
  }
}

RC_GTEST_PROP(StagesProperty, CutAxesAreMultiplesOfTheUnits, ()) {
  for (const Stage& stage : ListStages(*AnySpec())) {
    for (const TensorSpec& tensor : stage.tensors) {
      uint64_t product = 1;
      for (int64_t length : tensor.shape) product *= static_cast<uint64_t>(length);
      RC_ASSERT(tensor.parameters == product);
      if (tensor.split_axis >= 0) {
        RC_ASSERT(tensor.shape.at(static_cast<size_t>(tensor.split_axis)) % stage.units == 0);
      }
    }
  }
}

struct BadSpec {
  std::string what;
  void (*spoil)(ModelSpec&);
  std::string message;
};

class ValidateSpecTest : public testing::TestWithParam<BadSpec> {};

TEST_P(ValidateSpecTest, NamesTheField) {
  ModelSpec spec = TinySpec("mixtral");
  ASSERT_TRUE(ValidateSpec(spec).ok());
  GetParam().spoil(spec);
  const absl::Status status = ValidateSpec(spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find(GetParam().message), std::string::npos) << status;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

INSTANTIATE_TEST_SUITE_P(
    Fields, ValidateSpecTest,
    testing::Values(
        BadSpec{"attention_scale", [](ModelSpec& s) { s.attention_scale = -1; },
                "attention_scale is -1"},
        BadSpec{"embedding_multiplier", [](ModelSpec& s) { s.embedding_multiplier = 0; },
                "embedding_multiplier is 0"},
        BadSpec{"residual_multiplier", [](ModelSpec& s) { s.residual_multiplier = kNaN; },
                "residual_multiplier is nan"},
        BadSpec{"logit_multiplier", [](ModelSpec& s) { s.logit_multiplier = -2; },
                "logit_multiplier is -2"},
        BadSpec{"no_ropes", [](ModelSpec& s) { s.ropes.clear(); },
                "layer 0 has rope 0, but there are 0"},
        BadSpec{"rope_index", [](ModelSpec& s) { s.layers[1].rope = -2; }, "layer 1 has rope -2"},
        BadSpec{"odd_rotary_dim", [](ModelSpec& s) { s.ropes[0].rotary_dim = 3; },
                "rope rotates 3 channels of a head"},
        BadSpec{"wide_rotary_dim", [](ModelSpec& s) { s.ropes[0].rotary_dim = 18; },
                "of at most head_dim (16)"},
        BadSpec{"second_rope", [](ModelSpec& s) { s.ropes.push_back({.theta = kNaN}); },
                "rope theta is nan"},
        BadSpec{"short_factors",
                [](ModelSpec& s) {
                  s.ropes[0] = {.kind = RopeKind::kLongrope, .original_max_positions = 4};
                },
                "rope short_factor has 0 numbers; it must have 8"},
        BadSpec{"long_factors",
                [](ModelSpec& s) {
                  s.ropes[0] = {.kind = RopeKind::kLongrope,
                                .rotary_dim = 2,
                                .original_max_positions = 4,
                                .short_factors = {1},
                                .long_factors = {-1}};
                },
                "rope long_factor is -1"},
        BadSpec{"longrope_context",
                [](ModelSpec& s) {
                  s.ropes[0] = {.kind = RopeKind::kLongrope, .original_max_positions = 1};
                },
                "rope original_max_position_embeddings is 1"},
        BadSpec{"query_scale", [](ModelSpec& s) { s.ropes[0].query_scale_beta = -0.5; },
                "rope llama_4_scaling_beta is -0.5"},
        BadSpec{"query_scale_context", [](ModelSpec& s) { s.ropes[0].query_scale_beta = 0.5; },
                "rope original_max_position_embeddings is 0"},
        BadSpec{"partial_query_scale",
                [](ModelSpec& s) {
                  s.ropes[0] = {
                      .rotary_dim = 8, .original_max_positions = 4, .query_scale_beta = 0.5};
                },
                "partial rotation with a query scale is not supported"},
        BadSpec{"hidden", [](ModelSpec& s) { s.hidden = 0; }, "hidden is 0"},
        BadSpec{"heads", [](ModelSpec& s) { s.heads = -4; }, "heads is -4"},
        BadSpec{"kv_heads", [](ModelSpec& s) { s.kv_heads = 0; }, "kv_heads is 0"},
        BadSpec{"divide", [](ModelSpec& s) { s.kv_heads = 3; }, "not a multiple of kv_heads (3)"},
        BadSpec{"odd", [](ModelSpec& s) { s.head_dim = 15; }, "head_dim is 15"},
        BadSpec{"vocab", [](ModelSpec& s) { s.vocab = int64_t{1} << 31; }, "vocab is 2147483648"},
        BadSpec{"positions", [](ModelSpec& s) { s.max_positions = 0; }, "max_positions is 0"},
        BadSpec{"layers", [](ModelSpec& s) { s.layers.clear(); }, "number of layers is 0"},
        BadSpec{"many_layers", [](ModelSpec& s) { s.layers.resize(100'001); }, "100001 layers"},
        BadSpec{"window", [](ModelSpec& s) { s.layers[1].sliding_window = -1; },
                "sliding_window of layer 1 is -1"},
        BadSpec{"dense", [](ModelSpec& s) { s.layers[1].has_experts = false; },
                "intermediate is 0"},
        BadSpec{"experts", [](ModelSpec& s) { s.experts.experts = 0; }, "experts is 0"},
        BadSpec{"too_many_experts", [](ModelSpec& s) { s.experts.experts = (1 << 20) + 1; },
                "1048577 experts a layer; at most"},
        BadSpec{"chosen", [](ModelSpec& s) { s.experts.experts_per_token = 5; },
                "experts_per_token is 5, but there are 4"},
        BadSpec{"expert_width", [](ModelSpec& s) { s.experts.intermediate = 0; },
                "intermediate size of an expert is 0"},
        BadSpec{"epsilon", [](ModelSpec& s) { s.norm_epsilon = kNaN; }, "norm_epsilon"},
        BadSpec{"initializer", [](ModelSpec& s) { s.initializer_range = -1; },
                "initializer_range is -1"},
        BadSpec{"theta", [](ModelSpec& s) { s.ropes[0].theta = 0; }, "rope theta is 0"},
        BadSpec{"factor",
                [](ModelSpec& s) { s.ropes[0] = {.kind = RopeKind::kLinear, .factor = 0.5}; },
                "rope factor is 0.5"},
        BadSpec{"original", [](ModelSpec& s) { s.ropes[0] = {.kind = RopeKind::kYarn}; },
                "original_max_position_embeddings is 0"},
        BadSpec{"betas",
                [](ModelSpec& s) {
                  s.ropes[0] = {
                      .kind = RopeKind::kYarn, .original_max_positions = 8, .beta_fast = 1};
                },
                "rope beta_fast is 1"},
        BadSpec{"frequencies",
                [](ModelSpec& s) {
                  s.ropes[0] = {.kind = RopeKind::kLlama3,
                                .low_frequency_factor = 4,
                                .original_max_positions = 8};
                },
                "rope high_freq_factor is 4"},
        BadSpec{"tensors", [](ModelSpec& s) { s.experts.experts = 400'000; }, "1000000 tensors"},
        BadSpec{"overflow",
                [](ModelSpec& s) {
                  s.vocab = (int64_t{1} << 31) - 1;
                  s.hidden = int64_t{1} << 30;
                },
                "does not fit 62 bits"},
        BadSpec{"wrap",
                [](ModelSpec& s) {
                  s.experts.fused_tensors = true;
                  s.experts.experts = 1 << 20;
                  s.experts.intermediate = int64_t{1} << 30;
                  s.hidden = int64_t{1} << 30;
                },
                "does not fit 62 bits"}),
    [](const auto& test) { return test.param.what; });

TEST(ValidateSpec, AcceptsCountsJustBelowTheLimit) {
  ModelSpec spec = TinySpec("llama");
  spec.vocab = (int64_t{1} << 31) - 1;
  spec.hidden = (int64_t{1} << 30) - (int64_t{1} << 20);
  EXPECT_TRUE(ValidateSpec(spec).ok()) << ValidateSpec(spec);
  const uint64_t total = CountParameters(ListStages(spec)).total;
  EXPECT_LT(total, uint64_t{1} << 62);
  EXPECT_GT(total, uint64_t{1} << 61);
}

TEST(ValidateSpec, TakesTheSmallestModelOfEveryFamily) {
  for (std::string_view family : TestedFamilies()) {
    ModelSpec spec = TinySpec(family);
    spec.hidden = 1;
    spec.intermediate = 1;
    if (spec.experts.experts > 0) spec.experts.intermediate = 1;
    EXPECT_TRUE(ValidateSpec(spec).ok()) << family;
    EXPECT_GT(CountParameters(ListStages(spec)).total, 0u);
  }
}

}  // namespace
}  // namespace horizon

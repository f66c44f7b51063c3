// The families that came after the first seven, and what all families have in common: defaults and
// keys as in the configuration classes of transformers 5.23, names of tensors as in the goldens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "model/families/family.h"
#include "tests/model/model_specs.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelSpec Read(std::string_view text) {
  absl::StatusOr<ModelConfig> config = ReadConfigText(text);
  EXPECT_TRUE(config.ok()) << config.status() << "\n" << text;
  return config.ok() ? config->spec : ModelSpec();
}

ModelSpec ReadWith(std::string_view family, std::string_view fields) {
  return Read(StrCat(R"({"model_type": ")", family, "\", ", fields, "}"));
}

std::string ErrorOf(std::string_view text) {
  const absl::StatusOr<ModelConfig> config = ReadConfigText(text);
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(config.status().message());
}

std::vector<int64_t> WindowsOf(const ModelSpec& spec) {
  std::vector<int64_t> windows;
  for (const LayerSpec& layer : spec.layers) windows.push_back(layer.sliding_window);
  return windows;
}

std::vector<int32_t> RopesOf(const ModelSpec& spec) {
  std::vector<int32_t> ropes;
  for (const LayerSpec& layer : spec.layers) ropes.push_back(layer.rope);
  return ropes;
}

// Defaults: what the classes hold when nothing but the model_type is given.

TEST(Families, Gemma3TextDefaults) {
  ModelSpec expected = {.name = "test",
                        .family = "gemma3_text",
                        .hidden = 2304,
                        .intermediate = 9216,
                        .heads = 8,
                        .kv_heads = 4,
                        .head_dim = 256,
                        .vocab = 262208,
                        .max_positions = 131072,
                        .tied = true,
                        .norm_place = NormPlace::kBoth,
                        .norm_adds_one = true,
                        .qk_norm = QkNorm::kPerHead,
                        .activation = Activation::kGeluTanh,
                        .attention_scale = 1.0 / 16,
                        .embedding_multiplier = 48,
                        .ropes = {{.theta = 1e6}, {.theta = 1e4}},
                        .layers = std::vector<LayerSpec>(26, {.sliding_window = 4096, .rope = 1})};
  for (const size_t full : {5, 11, 17, 23}) expected.layers[full] = {};
  expected.padding_token = 0;
  expected.embedding_multiplier_rounds = true;
  EXPECT_EQ(Read(R"({"model_type": "gemma3_text"})"), expected);
}

TEST(Families, Olmo2AndOlmo3Defaults) {
  ModelSpec expected = {.name = "test",
                        .family = "olmo2",
                        .hidden = 4096,
                        .intermediate = 11008,
                        .heads = 32,
                        .kv_heads = 32,
                        .head_dim = 128,
                        .vocab = 50304,
                        .max_positions = 2048,
                        .norm_place = NormPlace::kAfter,
                        .qk_norm = QkNorm::kFullWidth,
                        .norm_epsilon = 1e-5,
                        .layers = std::vector<LayerSpec>(32)};
  expected.padding_token = 1;
  EXPECT_EQ(Read(R"({"model_type": "olmo2"})"), expected);
  expected.family = "olmo3";
  // Full and sliding layers rotate alike, so there is one rope.
  expected.ropes[0].theta = 500000;
  for (size_t i = 0; i < 32; ++i) expected.layers[i].sliding_window = i % 4 == 3 ? 0 : 4096;
  EXPECT_EQ(Read(R"({"model_type": "olmo3"})"), expected);
}

TEST(Families, Phi3Defaults) {
  ModelSpec expected = {.name = "test",
                        .family = "phi3",
                        .hidden = 3072,
                        .intermediate = 8192,
                        .heads = 32,
                        .kv_heads = 32,
                        .head_dim = 96,
                        .vocab = 32064,
                        .max_positions = 4096,
                        .norm_epsilon = 1e-5,
                        .layers = std::vector<LayerSpec>(32)};
  expected.padding_token = 32000;
  EXPECT_EQ(Read(R"({"model_type": "phi3"})"), expected);
}

TEST(Families, Smollm3Defaults) {
  ModelSpec expected = {.name = "test",
                        .family = "smollm3",
                        .hidden = 2048,
                        .intermediate = 11008,
                        .heads = 16,
                        .kv_heads = 4,
                        .head_dim = 128,
                        .vocab = 128256,
                        .max_positions = 32768,
                        .tied = true,
                        .ropes = {{.theta = 2e6}},
                        .layers = std::vector<LayerSpec>(36)};
  for (size_t i = 3; i < 36; i += 4) expected.layers[i].rope = kNoRotary;
  expected.padding_token = 128004;
  EXPECT_EQ(Read(R"({"model_type": "smollm3"})"), expected);
}

TEST(Families, GraniteDefaults) {
  const ModelSpec expected = {.name = "test",
                              .family = "granite",
                              .hidden = 4096,
                              .intermediate = 11008,
                              .heads = 32,
                              .kv_heads = 32,
                              .head_dim = 128,
                              .vocab = 32000,
                              .max_positions = 2048,
                              .attention_scale = 1.0,
                              .layers = std::vector<LayerSpec>(32)};
  EXPECT_EQ(Read(R"({"model_type": "granite"})"), expected);
}

TEST(Families, Ministral3Defaults) {
  ModelSpec expected = {.name = "test",
                        .family = "ministral3",
                        .hidden = 4096,
                        .intermediate = 14336,
                        .heads = 32,
                        .kv_heads = 8,
                        .head_dim = 128,
                        .vocab = 131072,
                        .max_positions = 262144,
                        .norm_epsilon = 1e-5,
                        .ropes = {{.kind = RopeKind::kYarn,
                                   .theta = 1e6,
                                   .factor = 16,
                                   .original_max_positions = 16384,
                                   .mscale = 1,
                                   .mscale_all_dim = 1,
                                   .query_scale_beta = 0.1}},
                        .layers = std::vector<LayerSpec>(34)};
  expected.padding_token = 11;
  EXPECT_EQ(Read(R"({"model_type": "ministral3"})"), expected);
}

TEST(Families, Exaone4Defaults) {
  ModelSpec expected = {.name = "test",
                        .family = "exaone4",
                        .hidden = 4096,
                        .intermediate = 16384,
                        .heads = 32,
                        .kv_heads = 32,
                        .head_dim = 128,
                        .vocab = 102400,
                        .max_positions = 2048,
                        .norm_place = NormPlace::kAfter,
                        .qk_norm = QkNorm::kPerHead,
                        .norm_epsilon = 1e-5,
                        .layers = std::vector<LayerSpec>(32)};
  for (size_t i = 0; i < 32; ++i) {
    if (i % 4 == 3) {
      expected.layers[i].rope = kNoRotary;
    } else {
      expected.layers[i].sliding_window = 4096;
    }
  }
  EXPECT_EQ(Read(R"({"model_type": "exaone4"})"), expected);
}

// Every key.

constexpr std::string_view kSizes =
    R"("hidden_size": 96, "intermediate_size": 7, "num_hidden_layers": 4,
       "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "vocab_size": 11,
       "max_position_embeddings": 13, "rms_norm_eps": 1e-3, "initializer_range": 0.5,
       "pad_token_id": 9)";

ModelSpec Sizes(std::string_view family) {
  ModelSpec spec = {.name = "test",
                    .family = std::string(family),
                    .hidden = 96,
                    .intermediate = 7,
                    .heads = 6,
                    .kv_heads = 3,
                    .head_dim = 10,
                    .vocab = 11,
                    .max_positions = 13,
                    .norm_epsilon = 1e-3,
                    .initializer_range = 0.5,
                    .layers = std::vector<LayerSpec>(4)};
  spec.padding_token = 9;
  return spec;
}

TEST(Families, Gemma3TextTakesWhatTheFileSays) {
  ModelSpec expected = Sizes("gemma3_text");
  expected.qkv_bias = true;
  expected.output_bias = true;
  expected.norm_place = NormPlace::kBoth;
  expected.norm_adds_one = true;
  expected.qk_norm = QkNorm::kPerHead;
  expected.activation = Activation::kGeluTanh;
  expected.attention_scale = 1.0 / std::sqrt(24.0);
  expected.embedding_multiplier = std::sqrt(96.0);
  expected.embedding_multiplier_rounds = true;
  expected.ropes = {{.kind = RopeKind::kLinear, .theta = 17, .factor = 8}, {.theta = 19}};
  expected.layers[0] = {.sliding_window = 5, .rope = 1};
  expected.layers[2] = {.sliding_window = 5, .rope = 1};
  const std::string others = StrCat(kSizes, R"(, "tie_word_embeddings": false,
      "attention_bias": true, "hidden_activation": "gelu_pytorch_tanh",
      "query_pre_attn_scalar": 24, "sliding_window": 5, "attn_logit_softcapping": null,
      "final_logit_softcapping": null, "use_bidirectional_attention": false, )");
  const std::string old_ropes = R"("rope_theta": 17, "rope_local_base_freq": 19,
      "rope_scaling": {"rope_type": "linear", "factor": 8})";
  const std::string new_ropes = R"("rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 17},
      "sliding_attention": {"rope_type": "default", "rope_theta": 19.0}})";
  const std::string mixed_ropes = R"("rope_theta": 17, "rope_local_base_freq": 19,
      "rope_parameters": {"full_attention": {"type": "linear", "factor": 8}})";
  const std::string types = R"("_sliding_window_pattern": 6, "layer_types": ["sliding_attention",
      "full_attention", "sliding_attention", "full_attention"], )";
  const std::string pattern = R"("sliding_window_pattern": 2, )";
  const std::string both = R"("sliding_window_pattern": 2, "_sliding_window_pattern": 2, )";
  for (const std::string& layers : {types, pattern, both}) {
    for (const std::string& ropes : {old_ropes, new_ropes, mixed_ropes}) {
      EXPECT_EQ(ReadWith("gemma3_text", StrCat(others, layers, ropes)), expected)
          << layers << ropes;
    }
  }
}

TEST(Families, OlmoTakesWhatTheFileSays) {
  ModelSpec expected = Sizes("olmo2");
  expected.tied = true;
  expected.qkv_bias = true;
  expected.output_bias = true;
  expected.norm_place = NormPlace::kAfter;
  expected.qk_norm = QkNorm::kFullWidth;
  const std::string others =
      StrCat(kSizes, R"(, "tie_word_embeddings": true, "attention_bias": true, )");
  expected.ropes[0].theta = 17;
  EXPECT_EQ(ReadWith("olmo2", StrCat(others, R"("rope_theta": 17)")), expected);
  expected.family = "olmo3";
  const RopeSpec yarn = {.kind = RopeKind::kYarn,
                         .theta = 500000,
                         .factor = 8,
                         .original_max_positions = 3,
                         .attention_factor = 1.25};
  expected.ropes = {yarn, {.theta = 500000}};
  for (size_t i = 0; i < 3; ++i) expected.layers[i] = {.sliding_window = 5, .rope = 1};
  EXPECT_EQ(ReadWith("olmo3", StrCat(others, R"("sliding_window": 5, "rope_theta": 500000,
      "rope_scaling": {"rope_type": "yarn", "factor": 8, "attention_factor": 1.25,
                       "original_max_position_embeddings": 3})")),
            expected);
  expected.ropes[0].theta = 7;
  EXPECT_EQ(ReadWith("olmo3", StrCat(others, R"("sliding_window": 5,
      "rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 8, "rope_theta": 7,
          "attention_factor": 1.25, "original_max_position_embeddings": 3},
          "sliding_attention": {"rope_type": "default", "rope_theta": 500000}})")),
            expected);
  EXPECT_THAT(WindowsOf(ReadWith("olmo3", R"("num_hidden_layers": 2, "sliding_window": 9,
                  "layer_types": ["full_attention", "sliding_attention"])")),
              ElementsAre(0, 9));
  EXPECT_THAT(WindowsOf(ReadWith("olmo3", R"("num_hidden_layers": 1, "sliding_window": null,
                  "layer_types": ["full_attention"])")),
              ElementsAre(0));
}

TEST(Families, Phi3TakesWhatTheFileSays) {
  ModelSpec expected = Sizes("phi3");
  expected.tied = true;
  for (LayerSpec& layer : expected.layers) layer.sliding_window = 5;
  expected.ropes = {{.theta = 17, .rotary_dim = 4}};
  const std::string others = StrCat(kSizes, R"(, "tie_word_embeddings": true, "sliding_window": 5,
      "rope_theta": 17, "resid_pdrop": 0.0, "embd_pdrop": 0.0, )");
  // 10 * 0.49 is 4.9, of which 4 channels are left.
  EXPECT_EQ(ReadWith("phi3", StrCat(others, R"("partial_rotary_factor": 0.49)")), expected);
  EXPECT_EQ(ReadWith("phi3", StrCat(others, R"("partial_rotary_factor": 0.8,
                "rope_parameters": {"partial_rotary_factor": 0.49})")),
            expected);
  expected.ropes = {{.kind = RopeKind::kLongrope,
                     .theta = 17,
                     .rotary_dim = 4,
                     .factor = 6.5,
                     .original_max_positions = 2,
                     .short_factors = {1, 1.5},
                     .long_factors = {2, 2.5}}};
  for (std::string_view word : {"longrope", "su", "yarn"}) {
    EXPECT_EQ(ReadWith("phi3", StrCat(others, R"("partial_rotary_factor": 0.49,
                  "original_max_position_embeddings": 2, "rope_scaling": {"type": ")",
                                      word, R"(", "short_factor": [1, 1.5],
                  "long_factor": [2, 2.5]})")),
              expected);
  }
  expected.ropes[0].factor = 3;
  expected.ropes[0].attention_factor = 1.25;
  EXPECT_EQ(ReadWith("phi3", StrCat(others, R"("original_max_position_embeddings": 2,
                "rope_parameters": {"rope_type": "longrope", "partial_rotary_factor": 0.4,
                "factor": 3, "attention_factor": 1.25, "short_factor": [1, 1.5],
                "long_factor": [2, 2.5]})")),
            expected);
}

TEST(Families, Phi3HasItsOwnOriginalContext) {
  const std::string lists = R"("head_dim": 4, "rope_scaling": {"type": "longrope",
      "short_factor": [1, 1], "long_factor": [2, 2]})";
  const RopeSpec rope = ReadWith("phi3", lists + R"(, "max_position_embeddings": 8192)").ropes[0];
  EXPECT_EQ(rope.original_max_positions, 4096);
  EXPECT_EQ(rope.factor, 2);
  // A shorter context than the original one scales like an equal one.
  EXPECT_EQ(ReadWith("phi3", lists + R"(, "max_position_embeddings": 256)").ropes[0].factor, 1);
}

TEST(Families, Smollm3TakesWhatTheFileSays) {
  ModelSpec expected = Sizes("smollm3");
  expected.qkv_bias = true;
  expected.output_bias = true;
  expected.mlp_bias = true;
  expected.ropes[0].theta = 17;
  const std::string others = StrCat(kSizes, R"(, "tie_word_embeddings": false,
      "attention_bias": true, "mlp_bias": true, "rope_theta": 17, "pretraining_tp": 2, )");
  expected.layers[1].rope = kNoRotary;
  expected.layers[3].rope = kNoRotary;
  EXPECT_EQ(ReadWith("smollm3", StrCat(others, R"("no_rope_layer_interval": 2)")), expected);
  EXPECT_EQ(ReadWith("smollm3", StrCat(others, R"("no_rope_layers": [1, 0, 1, 0],
                "use_sliding_window": false, "sliding_window": 5)")),
            expected);
  expected.layers[1].sliding_window = 5;
  expected.layers[3].sliding_window = 5;
  EXPECT_EQ(ReadWith("smollm3", StrCat(others, R"("no_rope_layers": [1, 0, 1, 0],
                "use_sliding_window": true, "sliding_window": 5)")),
            expected);
  const ModelSpec listed = ReadWith("smollm3", StrCat(others, R"("use_sliding_window": true,
      "sliding_window": 5, "layer_types": ["sliding_attention", "full_attention",
      "full_attention", "full_attention"])"));
  EXPECT_THAT(WindowsOf(listed), ElementsAre(5, 0, 0, 0));
  EXPECT_THAT(RopesOf(listed), ElementsAre(0, 0, 0, kNoRotary));
}

TEST(Families, GraniteTakesWhatTheFileSays) {
  ModelSpec expected = Sizes("granite");
  expected.tied = true;
  expected.qkv_bias = true;
  expected.output_bias = true;
  expected.mlp_bias = true;
  expected.ropes[0].theta = 17;
  expected.attention_scale = 0.0078125;
  expected.embedding_multiplier = 12;
  expected.residual_multiplier = 0.22;
  expected.logit_multiplier = 1.0 / 16;
  EXPECT_EQ(ReadWith("granite", StrCat(kSizes, R"(, "tie_word_embeddings": true,
                "attention_bias": true, "mlp_bias": true, "rope_theta": 17,
                "attention_multiplier": 0.0078125, "embedding_multiplier": 12,
                "residual_multiplier": 0.22, "logits_scaling": 16)")),
            expected);
}

TEST(Families, Ministral3TakesWhatTheFileSays) {
  ModelSpec expected = Sizes("ministral3");
  expected.tied = true;
  for (LayerSpec& layer : expected.layers) layer.sliding_window = 5;
  expected.ropes = {{.kind = RopeKind::kYarn,
                     .theta = 17,
                     .factor = 2,
                     .original_max_positions = 13,
                     .query_scale_beta = 0.25}};
  const std::string others =
      StrCat(kSizes, R"(, "tie_word_embeddings": true, "sliding_window": 5, )");
  EXPECT_EQ(ReadWith("ministral3", StrCat(others, R"("rope_theta": 17, "rope_parameters": {
                "type": "yarn", "factor": 2, "max_position_embeddings": 13,
                "llama_4_scaling_beta": 0.25})")),
            expected);
  // Settings without a theta take the common default; a query scale needs its positions.
  expected.ropes = {{.original_max_positions = 3, .query_scale_beta = 0.25}};
  EXPECT_EQ(ReadWith("ministral3", StrCat(others, R"("rope_parameters": {"rope_type": "default",
                "original_max_position_embeddings": 3, "llama_4_scaling_beta": 0.25})")),
            expected);
  expected.ropes = {{}};
  EXPECT_EQ(
      ReadWith("ministral3", StrCat(others, R"("rope_parameters": {"llama_4_scaling_beta": 0})")),
      expected);
}

TEST(Families, Exaone4TakesWhatTheFileSays) {
  ModelSpec expected = Sizes("exaone4");
  expected.tied = true;
  expected.norm_place = NormPlace::kAfter;
  expected.qk_norm = QkNorm::kPerHead;
  expected.ropes = {
      {.kind = RopeKind::kLlama3, .theta = 17, .factor = 16, .original_max_positions = 3}};
  const std::string others = StrCat(kSizes, R"(, "tie_word_embeddings": true,
      "hidden_act": "silu", "rope_theta": 17, "rope_scaling": {"rope_type": "llama3", "factor": 16,
      "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 3}, )");
  // Without a window all layers rotate, whatever the pattern is.
  for (std::string_view pattern : {"null", "0", "4", "\"LLLG\""}) {
    EXPECT_EQ(ReadWith("exaone4", StrCat(others, R"("sliding_window": null,
                  "sliding_window_pattern": )",
                                         pattern)),
              expected);
  }
  const LayerSpec sliding = {.sliding_window = 5};
  const LayerSpec full = {.rope = kNoRotary};
  expected.layers = {sliding, full, sliding, full};
  for (std::string_view pattern : {"2", "\"LG\"", "\"LGLG\"", "\"LGLL\"", "\"LGLLG\""}) {
    EXPECT_EQ(ReadWith("exaone4", StrCat(others, R"("sliding_window": 5,
                  "sliding_window_pattern": )",
                                         pattern)),
              expected)
        << pattern;
  }
  // layer_types go before the pattern.
  expected.layers = {full, full, sliding, sliding};
  for (std::string_view pattern : {"null", "0", "2", "\"LG\"", "\"none\""}) {
    EXPECT_EQ(ReadWith("exaone4", StrCat(others, R"("sliding_window": 5, "layer_types":
                  ["full_attention", "full_attention", "sliding_attention", "sliding_attention"],
                  "sliding_window_pattern": )",
                                         pattern)),
              expected)
        << pattern;
  }
}

TEST(Families, TheLastLayerOfExaone4IsFullUnderAPatternInLettersAlone) {
  const auto windows = [](std::string_view pattern) {
    return WindowsOf(ReadWith("exaone4", StrCat(R"("num_hidden_layers": 5, "sliding_window": 8,
        "sliding_window_pattern": )",
                                                pattern)));
  };
  EXPECT_THAT(windows("4"), ElementsAre(8, 8, 8, 0, 8));
  EXPECT_THAT(windows("\"LLLG\""), ElementsAre(8, 8, 8, 0, 0));
}

TEST(Families, Exaone4HasAWindowUnlessTheFileSaysNull) {
  const std::string types = R"("num_hidden_layers": 1, "layer_types": ["full_attention"])";
  EXPECT_THAT(RopesOf(ReadWith("exaone4", types)), ElementsAre(kNoRotary));
  EXPECT_THAT(RopesOf(ReadWith("exaone4", types + R"(, "sliding_window": null)")), ElementsAre(0));
}

TEST(Families, APaddingTokenNamesARowOfTheTable) {
  const auto token = [](std::string_view value) {
    return ReadWith("olmo2", StrCat(R"("vocab_size": 10, "pad_token_id": )", value)).padding_token;
  };
  EXPECT_EQ(token("0"), 0);
  EXPECT_EQ(token("9"), 9);
  EXPECT_EQ(token("10"), -1);
  EXPECT_EQ(token("null"), -1);
  EXPECT_EQ(token("-1"), 9);
  EXPECT_EQ(ReadWith("phi3", R"("vocab_size": 10)").padding_token, -1);
}

// Refusals.

struct Refusal {
  std::string family;
  std::string fields;
  std::string message;
};

class FamilyRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(FamilyRefuses, ByName) {
  const Refusal& refusal = GetParam();
  const std::string message =
      ErrorOf(StrCat(R"({"model_type": ")", refusal.family, "\", ", refusal.fields, "}"));
  EXPECT_THAT(message, testing::StartsWith("config.json:"));
  EXPECT_THAT(message, HasSubstr(refusal.message));
}

INSTANTIATE_TEST_SUITE_P(
    Settings, FamilyRefuses,
    testing::Values(
        Refusal{"gemma3_text", R"("hidden_activation": "gelu")",
                "hidden_activation: \"gelu\" is not supported; only gelu_pytorch_tanh is"},
        Refusal{"gemma3_text", R"("attn_logit_softcapping": 50)", "attn_logit_softcapping: 50"},
        Refusal{"gemma3_text", R"("final_logit_softcapping": 30.0)", "final_logit_softcapping: 30"},
        Refusal{"gemma3_text", R"("use_bidirectional_attention": true)",
                "use_bidirectional_attention: true is not supported"},
        Refusal{"gemma3_text", R"("query_pre_attn_scalar": 0)", "query_pre_attn_scalar: is 0"},
        Refusal{"gemma3_text", R"("query_pre_attn_scalar": 2.5)", "needs an integer"},
        Refusal{"gemma3_text", R"("head_dim": null)", "head_dim: needs an integer"},
        Refusal{"gemma3_text", R"("num_key_value_heads": null)", "num_key_value_heads: needs"},
        Refusal{"gemma3_text", R"("sliding_window": null)",
                "sliding_window: null is not supported; most layers of this family slide"},
        Refusal{"gemma3_text", R"("sliding_window_pattern": 0)", "sliding_window_pattern: is 0"},
        Refusal{"gemma3_text", R"("_sliding_window_pattern": 3)",
                "_sliding_window_pattern: 3 is not supported; transformers does not read it"},
        Refusal{"gemma3_text", R"("mlp_bias": true)", "mlp_bias: true"},
        Refusal{"llama", R"("query_pre_attn_scalar": 256)", "query_pre_attn_scalar: 256"},
        Refusal{"llama", R"("embedding_multiplier": 12.0)", "embedding_multiplier: 12"},
        Refusal{"llama", R"("logits_scaling": 8.0)", "logits_scaling: 8"},
        Refusal{"llama", R"("no_rope_layers": [1, 0])", "no_rope_layers: an array"},
        Refusal{"olmo2", R"("sliding_window": 5)", "sliding_window: 5 is not supported"},
        Refusal{"olmo2", R"("hidden_act": "gelu")", "hidden_act: \"gelu\""},
        Refusal{"olmo2", R"("clip_qkv": 8.0)", "clip_qkv: 8"},
        Refusal{"olmo3", R"("sliding_window": null)", "three of four layers of this family slide"},
        Refusal{"phi3", R"("attention_bias": true)", "attention_bias: true"},
        Refusal{"phi3", R"("resid_pdrop": 0.1)", "resid_pdrop: 0.1"},
        Refusal{"phi3", R"("lm_head_bias": true)", "lm_head_bias: true"},
        Refusal{"phi3", R"("num_hidden_layers": 1, "layer_types": ["sliding_attention"])",
                "no sliding_window is in use"},
        Refusal{"smollm3", R"("no_rope_layer_interval": 0)", "no_rope_layer_interval: is 0"},
        Refusal{"smollm3", R"("no_rope_layers": [1, 0])",
                "no_rope_layers: has 2 entries for 36 layers"},
        Refusal{"smollm3", R"("num_hidden_layers": 1, "no_rope_layers": [2])",
                "no_rope_layers: is 2 for layer 0; it must be 0 or 1"},
        Refusal{"smollm3", R"("sliding_window": 5, "num_hidden_layers": 1,
                              "layer_types": ["sliding_attention"])",
                "layer 0 slides, but no sliding_window is in use"},
        Refusal{"granite", R"("attention_multiplier": 0)", "attention_multiplier: is 0"},
        Refusal{"granite", R"("logits_scaling": -1)", "logits_scaling: is -1"},
        Refusal{"granite", R"("residual_multiplier": "x")", "residual_multiplier: needs a number"},
        Refusal{"granite", R"("logits_scaling": 5e-324)", "logit_multiplier is inf"},
        Refusal{"exaone4", R"("head_dim": null)", "head_dim: needs an integer"},
        Refusal{"exaone4", R"("num_key_value_heads": null)", "num_key_value_heads: needs"},
        Refusal{"exaone4", R"("attention_bias": true)", "attention_bias: true"},
        Refusal{"exaone4", R"("sliding_window": 0)", "sliding_window: is 0"},
        Refusal{"exaone4", R"("sliding_window_pattern": 0)", "sliding_window_pattern: is 0"},
        Refusal{"exaone4", R"("sliding_window_pattern": null)", "sliding_window_pattern: needs"},
        Refusal{"exaone4", R"("sliding_window_pattern": "")", "sliding_window_pattern: \"\""},
        Refusal{"exaone4", R"("sliding_window_pattern": "LLLX")",
                "sliding_window_pattern: \"LLLX\" is not supported; it must be a number, or"},
        Refusal{"exaone4", R"("sliding_window": null, "num_hidden_layers": 1,
                              "layer_types": ["sliding_attention"])",
                "layer 0 slides, but no sliding_window is in use"},
        Refusal{"ministral3", R"("head_dim": null)", "head_dim: needs an integer"},
        Refusal{"ministral3", R"("attention_bias": true)", "attention_bias: true"},
        Refusal{"ministral3", R"("llama_4_scaling_beta": 0.1)", "llama_4_scaling_beta: 0.1"}));

INSTANTIATE_TEST_SUITE_P(
    Ropes, FamilyRefuses,
    testing::Values(
        Refusal{"gemma3_text", R"("rope_local_base_freq": 0)", "rope_local_base_freq: is 0"},
        Refusal{"gemma3_text", R"("rope_parameters": {"rope_type": "linear", "factor": 2})",
                "rope_parameters.rope_type: unknown; rope_parameters of this family has"},
        Refusal{"gemma3_text", R"("rope_scaling": {"rope_type": "linear", "factor": 2},
                                  "rope_parameters": {"full_attention": {}})",
                "rope_scaling: stands beside rope_parameters"},
        Refusal{"gemma3_text", R"("rope_parameters": {"full_attention": {"rope_type": "dynamic"}})",
                "rope_parameters.full_attention.rope_type: \"dynamic\" is not supported"},
        Refusal{"gemma3_text", R"("rope_parameters": 3)", "rope_parameters"},
        Refusal{"gemma3_text", R"("rope_parameters": {"sliding_attention": 3})",
                "rope_parameters.sliding_attention"},
        Refusal{"gemma3_text", R"("original_max_position_embeddings": 4096)",
                "original_max_position_embeddings: 4096"},
        Refusal{"gemma3_text", R"("partial_rotary_factor": 0.5)", "partial_rotary_factor: 0.5"},
        Refusal{"olmo3", R"("rope_scaling": {"type": "yarn", "factor": 2})",
                "rope_scaling.type: \"yarn\" is not supported; for this family transformers reads "
                "rope_type"},
        Refusal{"olmo3", R"("rope_theta": 10000)",
                "rope_theta: 10000 is not supported; releases of transformers disagree"},
        Refusal{"olmo3", R"("rope_scaling": {"rope_type": "yarn", "factor": 2, "truncate": false})",
                "rope_scaling.truncate: false is not supported"},
        Refusal{"phi3", R"("rope_scaling": {"type": "linear", "factor": 2})",
                "rope_scaling.type: \"linear\" is not supported; known kinds are default and "
                "longrope"},
        Refusal{"phi3", R"("rope_scaling": {"type": "longrope", "short_factor": [1]})",
                "rope_scaling.short_factor: has 1 numbers; it must have 48"},
        Refusal{"phi3", R"("head_dim": 2, "rope_scaling": {"type": "longrope",
                           "short_factor": [1]})",
                "rope_scaling.long_factor: required for the kind longrope and missing"},
        Refusal{"phi3", R"("head_dim": 4, "rope_scaling": {"type": "su", "short_factor": [1, 0],
                           "long_factor": [1, 1]})",
                "rope_scaling.short_factor: number 1 is 0; it must be a finite number above 0"},
        Refusal{"phi3", R"("head_dim": 4, "rope_scaling": {"type": "su", "short_factor": [1, "x"],
                           "long_factor": [1, 1]})",
                "short_factor: number 1 is \"x\""},
        Refusal{"phi3", R"("rope_scaling": {"type": "su", "short_factor": 1, "long_factor": [1]})",
                "short_factor: needs an array of numbers, found an integer"},
        Refusal{"phi3", R"("head_dim": 2, "rope_scaling": {"type": "longrope",
                           "short_factor": [1], "long_factor": [1],
                           "original_max_position_embeddings": 77})",
                "original_max_position_embeddings: 77 is not supported"},
        Refusal{"phi3", R"("head_dim": 2, "original_max_position_embeddings": 1,
                           "rope_scaling": {"type": "longrope", "short_factor": [1],
                           "long_factor": [1]})",
                "longrope needs at least 2"},
        Refusal{"phi3", R"("partial_rotary_factor": 1.5)",
                "partial_rotary_factor: is 1.5; it must be at most 1"},
        Refusal{"phi3", R"("partial_rotary_factor": 0.01)", "which rotates 0 of 96 channels"},
        Refusal{"phi3", R"("rope_parameters": {"partial_rotary_factor": 0.27})",
                "rope_parameters.partial_rotary_factor: is 0.27"},
        Refusal{"smollm3", R"("partial_rotary_factor": 0.5)", "partial_rotary_factor: 0.5"},
        Refusal{"granite", R"("rope_scaling": {"type": "longrope"})", "\"longrope\""},
        Refusal{"ministral3", R"("rope_theta": 5)", "rope_theta: 5 is not supported"},
        Refusal{"ministral3", R"("rope_parameters": {"rope_type": "yarn", "factor": 2})",
                "rope_parameters.llama_4_scaling_beta: required for this family and missing"},
        Refusal{"ministral3", R"("rope_parameters": {"llama_4_scaling_beta": 0.1})",
                "original_max_position_embeddings: required with llama_4_scaling_beta"},
        Refusal{"ministral3", R"("rope_parameters": {"llama_4_scaling_beta": -1})",
                "llama_4_scaling_beta: is -1"},
        Refusal{"mistral", R"("rope_parameters": {"llama_4_scaling_beta": 0.1})",
                "rope_parameters.llama_4_scaling_beta: unknown rotary setting"}));

// Wrappers.

TEST(Wrappers, TheTextPartIsReadByItsFamily) {
  const absl::StatusOr<ModelConfig> config = ReadConfigText(R"({"model_type": "gemma3",
      "architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999,
      "image_token_index": 262144, "mm_tokens_per_image": 256, "zebra": 1,
      "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34,
                      "intermediate_size": 10240, "sliding_window": 1024, "horse": 2,
                      "rope_scaling": {"factor": 8.0, "rope_type": "linear"}},
      "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152}})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->spec.family, "gemma3_text");
  EXPECT_EQ(config->spec.wrapper, "gemma3");
  EXPECT_EQ(config->spec.name, "test");
  EXPECT_EQ(config->spec.hidden, 2560);
  EXPECT_EQ(config->spec.vocab, 262208);
  EXPECT_EQ(config->spec.ropes[0].factor, 8);
  EXPECT_THAT(config->ignored_keys, ElementsAre("zebra", "text_config.horse"));
  EXPECT_EQ(Read(R"({"model_type": "gemma3", "text_config": {}})").family, "gemma3_text");
  EXPECT_EQ(Read(R"({"model_type": "mistral3", "text_config": {}})").family, "mistral");
  const ModelSpec ministral =
      Read(R"({"model_type": "mistral3", "text_config": {"model_type": "ministral3"}})");
  EXPECT_EQ(ministral.family, "ministral3");
  EXPECT_EQ(ministral.wrapper, "mistral3");
  EXPECT_EQ(Read(R"({"model_type": "gemma3_text"})").wrapper, "");
}

TEST(Wrappers, TheOuterTieGoesFirst) {
  const auto tied = [](std::string_view wrapper, std::string_view outer, std::string_view inner) {
    return Read(StrCat(R"({"model_type": ")", wrapper, "\"", outer, R"(, "text_config": {)", inner,
                       "}}"))
        .tied;
  };
  constexpr std::string_view kTrue = R"(, "tie_word_embeddings": true)";
  constexpr std::string_view kFalse = R"(, "tie_word_embeddings": false)";
  constexpr std::string_view kInnerTrue = R"("tie_word_embeddings": true)";
  constexpr std::string_view kInnerFalse = R"("tie_word_embeddings": false)";
  EXPECT_TRUE(tied("gemma3", "", ""));
  EXPECT_FALSE(tied("mistral3", "", ""));
  EXPECT_TRUE(tied("mistral3", "", kInnerTrue));
  EXPECT_FALSE(tied("gemma3", kFalse, kInnerTrue));
  EXPECT_TRUE(tied("mistral3", kTrue, kInnerFalse));
}

TEST(Wrappers, ErrorsNameTheTextConfig) {
  EXPECT_EQ(ErrorOf("{\"model_type\": \"gemma3\",\n\"text_config\": {\n\"vocab_size\": 0}}"),
            "config.json:3: text_config.vocab_size: is 0; it must be 1 to 2147483647");
  EXPECT_THAT(ErrorOf(R"({"model_type": "gemma3", "text_config": {
                  "rope_parameters": {"full_attention": {"rope_type": "ntk"}}}})"),
              HasSubstr("text_config.rope_parameters.full_attention.rope_type: \"ntk\""));
  EXPECT_THAT(ErrorOf(R"({"model_type": "gemma3", "text_config": {"model_type": "llama"}})"),
              HasSubstr("text_config.model_type: \"llama\" is not supported as the text part of "
                        "gemma3; known are gemma3_text"));
  EXPECT_THAT(ErrorOf(R"({"model_type": "gemma3"})"), HasSubstr("text_config: required"));
  EXPECT_THAT(ErrorOf(R"({"model_type": "gemma3", "text_config": null})"),
              HasSubstr("text_config: needs an object, found null"));
  EXPECT_THAT(
      ErrorOf(R"({"model_type": "gemma3", "text_config": {}, "quantization_config": {"b": 4}})"),
      HasSubstr("quantization_config: an object is not supported"));
  EXPECT_THAT(ErrorOf(R"({"model_type": "llava", "text_config": {"model_type": "llama"}})"),
              HasSubstr("model_type: \"llava\" is not supported"));
  EXPECT_THAT(ErrorOf(R"({"model_type": "gema3", "text_config": {}})"),
              HasSubstr("did you mean 'gemma3'?"));
}

// Names of tensors.

TEST(FamilyNames, EveryFamilyIsFoundByItsModelType) {
  EXPECT_EQ(AllFamilies().size(), TestedFamilies().size());
  for (const Family& family : AllFamilies()) {
    EXPECT_EQ(FindFamily(family.model_type), &family);
    EXPECT_NE(family.read, nullptr);
  }
  EXPECT_EQ(FindFamily("gemma3"), nullptr);
  EXPECT_EQ(FindFamily(""), nullptr);
}

TEST(FamilyNames, NoTwoTensorsOfALayerShareAName) {
  for (const Family& family : AllFamilies()) {
    for (const StageKind second : {StageKind::kFeedForward, StageKind::kExperts}) {
      std::set<std::string_view> names;
      for (const StageKind stage : {StageKind::kAttention, second}) {
        for (int role = 0; role < kTensorRoles; ++role) {
          const std::string_view name = family.name(stage, static_cast<TensorRole>(role));
          if (name.empty()) continue;
          EXPECT_TRUE(names.insert(name).second) << family.model_type << " " << name;
        }
      }
      EXPECT_GT(names.size(), 20u);
    }
  }
}

TEST(FamilyNames, DifferWhereTheFilesDo) {
  using Role = TensorRole;
  const auto name = [](std::string_view family, StageKind stage, Role role) {
    return FindFamily(family)->name(stage, role);
  };
  EXPECT_EQ(name("llama", StageKind::kFeedForward, Role::kNorm), "post_attention_layernorm.weight");
  for (std::string_view family : {"gemma3_text", "olmo2", "olmo3", "exaone4"}) {
    EXPECT_EQ(name(family, StageKind::kAttention, Role::kNorm), "input_layernorm.weight");
    EXPECT_EQ(name(family, StageKind::kAttention, Role::kNormAfter),
              "post_attention_layernorm.weight");
    EXPECT_EQ(name(family, StageKind::kFeedForward, Role::kNorm),
              "pre_feedforward_layernorm.weight");
    EXPECT_EQ(name(family, StageKind::kFeedForward, Role::kNormAfter),
              "post_feedforward_layernorm.weight");
  }
  EXPECT_EQ(name("mixtral", StageKind::kExperts, Role::kUp),
            "block_sparse_moe.experts.#.w3.weight");
  EXPECT_EQ(name("qwen3_moe", StageKind::kExperts, Role::kRouter), "mlp.gate.weight");
  EXPECT_EQ(name("gpt_oss", StageKind::kExperts, Role::kRouterBias), "mlp.router.bias");
  EXPECT_EQ(name("phi3", StageKind::kHead, Role::kTable), "lm_head.weight");
  EXPECT_EQ(name("phi3", StageKind::kHead, Role::kQuery), "");
}

}  // namespace
}  // namespace horizon

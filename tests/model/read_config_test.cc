#include "model/read_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
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

std::vector<bool> ExpertLayersOf(const ModelSpec& spec) {
  std::vector<bool> layers;
  for (const LayerSpec& layer : spec.layers) layers.push_back(layer.has_experts);
  return layers;
}

std::vector<LayerSpec> Layers(size_t count, LayerSpec layer) {
  return std::vector<LayerSpec>(count, layer);
}

// What the classes of transformers 5.22 hold when nothing but the model_type is given.

TEST(ReadConfig, LlamaDefaults) {
  const ModelSpec expected = {.name = "test",
                              .family = "llama",
                              .hidden = 4096,
                              .intermediate = 11008,
                              .heads = 32,
                              .kv_heads = 32,
                              .head_dim = 128,
                              .vocab = 32000,
                              .max_positions = 2048,
                              .layers = Layers(32, {})};
  EXPECT_EQ(Read(R"({"model_type": "llama"})"), expected);
}

TEST(ReadConfig, Qwen2AndQwen3Defaults) {
  ModelSpec expected = {.name = "test",
                        .family = "qwen2",
                        .hidden = 4096,
                        .intermediate = 22016,
                        .heads = 32,
                        .kv_heads = 32,
                        .head_dim = 128,
                        .vocab = 151936,
                        .max_positions = 32768,
                        .qkv_bias = true,
                        .layers = Layers(32, {})};
  EXPECT_EQ(Read(R"({"model_type": "qwen2"})"), expected);
  expected.family = "qwen3";
  expected.qkv_bias = false;
  expected.qk_norm = QkNorm::kPerHead;
  EXPECT_EQ(Read(R"({"model_type": "qwen3"})"), expected);
  EXPECT_EQ(Read(R"({"model_type": "qwen2", "hidden_size": 2048})").head_dim, 64);
  EXPECT_EQ(Read(R"({"model_type": "qwen3", "hidden_size": 2048})").head_dim, 128);
}

TEST(ReadConfig, MistralAndMixtralDefaults) {
  ModelSpec expected = {.name = "test",
                        .family = "mistral",
                        .hidden = 4096,
                        .intermediate = 14336,
                        .heads = 32,
                        .kv_heads = 8,
                        .head_dim = 128,
                        .vocab = 32000,
                        .max_positions = 131072,
                        .layers = Layers(32, {.sliding_window = 4096})};
  EXPECT_EQ(Read(R"({"model_type": "mistral"})"), expected);
  expected.family = "mixtral";
  expected.intermediate = 0;
  expected.norm_epsilon = 1e-5;
  expected.ropes[0].theta = 1e6;
  expected.experts = {
      .experts = 8, .experts_per_token = 2, .intermediate = 14336, .normalise_top_k = true};
  expected.layers = Layers(32, {.has_experts = true});
  EXPECT_EQ(Read(R"({"model_type": "mixtral"})"), expected);
}

TEST(ReadConfig, Qwen3MoeDefaults) {
  const ModelSpec expected = {
      .name = "test",
      .family = "qwen3_moe",
      .hidden = 2048,
      .heads = 32,
      .kv_heads = 4,
      .head_dim = 64,
      .vocab = 151936,
      .max_positions = 32768,
      .qk_norm = QkNorm::kPerHead,
      .experts = {.experts = 128, .experts_per_token = 8, .intermediate = 768},
      .layers = Layers(24, {.has_experts = true})};
  EXPECT_EQ(Read(R"({"model_type": "qwen3_moe"})"), expected);
}

TEST(ReadConfig, GptOssDefaults) {
  ModelSpec expected = {.name = "test",
                        .family = "gpt_oss",
                        .hidden = 2880,
                        .heads = 64,
                        .kv_heads = 8,
                        .head_dim = 64,
                        .vocab = 201088,
                        .max_positions = 131072,
                        .qkv_bias = true,
                        .output_bias = true,
                        .expert_bias = true,
                        .attention_sinks = true,
                        .norm_epsilon = 1e-5,
                        .swiglu_limit = 7.0,
                        .swiglu_alpha = 1.702,
                        .ropes = {{.kind = RopeKind::kYarn,
                                   .theta = 150000.0,
                                   .factor = 32.0,
                                   .original_max_positions = 4096,
                                   .truncate = false}},
                        .experts = {.experts = 128,
                                    .experts_per_token = 4,
                                    .intermediate = 2880,
                                    .normalise_top_k = true,
                                    .fused_tensors = true},
                        .layers = Layers(36, {.sliding_window = 128, .has_experts = true})};
  for (size_t i = 1; i < 36; i += 2) expected.layers[i].sliding_window = 0;
  EXPECT_EQ(Read(R"({"model_type": "gpt_oss"})"), expected);
}

TEST(ReadConfig, TakesWhatTheFileSays) {
  const ModelSpec spec = Read(R"({"model_type": "llama", "hidden_size": 96, "intermediate_size": 7,
      "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10,
      "vocab_size": 11, "max_position_embeddings": 13, "tie_word_embeddings": true,
      "rms_norm_eps": 1e-3, "initializer_range": 0, "attention_bias": true, "mlp_bias": true,
      "hidden_act": "swish", "rope_theta": 17})");
  const ModelSpec expected = {.name = "test",
                              .family = "llama",
                              .hidden = 96,
                              .intermediate = 7,
                              .heads = 6,
                              .kv_heads = 3,
                              .head_dim = 10,
                              .vocab = 11,
                              .max_positions = 13,
                              .tied = true,
                              .qkv_bias = true,
                              .output_bias = true,
                              .mlp_bias = true,
                              .norm_epsilon = 1e-3,
                              .initializer_range = 0,
                              .ropes = {{.theta = 17}},
                              .layers = Layers(3, {})};
  EXPECT_EQ(spec, expected);
}

TEST(ReadConfig, NullsMeanTheDerivedValue) {
  const ModelSpec spec = Read(
      R"({"model_type": "mistral", "num_key_value_heads": null, "head_dim": null,
          "sliding_window": null, "rope_scaling": null, "rope_theta": null})");
  EXPECT_EQ(spec.kv_heads, 32);
  EXPECT_EQ(spec.head_dim, 128);
  EXPECT_EQ(spec.layers, Layers(32, {}));
  EXPECT_EQ(spec.ropes, std::vector<RopeSpec>{RopeSpec()});
}

TEST(ReadConfig, QwenWindowsNeedTheirSwitch) {
  for (std::string_view family : {"qwen2", "qwen3"}) {
    const std::string start =
        StrCat(R"({"model_type": ")", family, R"(", "num_hidden_layers": 4, )");
    EXPECT_THAT(WindowsOf(Read(start + R"("sliding_window": 9, "max_window_layers": 2})")),
                ElementsAre(0, 0, 0, 0));
    EXPECT_THAT(WindowsOf(Read(start + R"("sliding_window": 9, "max_window_layers": 2,
                                          "use_sliding_window": true})")),
                ElementsAre(0, 0, 9, 9));
    EXPECT_THAT(WindowsOf(Read(start + R"("use_sliding_window": true})")),
                ElementsAre(0, 0, 0, 0));  // max_window_layers is 28
    EXPECT_THAT(WindowsOf(Read(start + R"("use_sliding_window": true, "max_window_layers": 3})")),
                ElementsAre(0, 0, 0, 4096));
    EXPECT_THAT(WindowsOf(Read(start + R"("use_sliding_window": true, "sliding_window": 5,
            "layer_types": ["sliding_attention", "full_attention", "full_attention",
                            "sliding_attention"]})")),
                ElementsAre(5, 0, 0, 5));
    EXPECT_THAT(WindowsOf(Read(start + R"("use_sliding_window": true, "max_window_layers": 0,
                                          "layer_types": null, "sliding_window": 3})")),
                ElementsAre(3, 3, 3, 3));
  }
  EXPECT_THAT(WindowsOf(Read(R"({"model_type": "qwen3_moe", "num_hidden_layers": 2,
                                 "use_sliding_window": true, "sliding_window": 6})")),
              ElementsAre(6, 6));
}

TEST(ReadConfig, GptOssAlternatesUnlessTold) {
  EXPECT_THAT(WindowsOf(Read(R"({"model_type": "gpt_oss", "num_hidden_layers": 3})")),
              ElementsAre(128, 0, 128));
  EXPECT_THAT(WindowsOf(Read(R"({"model_type": "gpt_oss", "num_hidden_layers": 3,
      "sliding_window": 7,
      "layer_types": ["full_attention", "sliding_attention", "sliding_attention"]})")),
              ElementsAre(0, 7, 7));
  EXPECT_THAT(WindowsOf(Read(R"({"model_type": "gpt_oss", "num_hidden_layers": 1,
      "sliding_window": null, "layer_types": ["full_attention"]})")),
              ElementsAre(0));
}

TEST(ReadConfig, Qwen3MoePlacesItsExperts) {
  const std::string start = R"({"model_type": "qwen3_moe", "num_hidden_layers": 6, )";
  EXPECT_THAT(ExpertLayersOf(Read(start + R"("decoder_sparse_step": 2})")),
              ElementsAre(false, true, false, true, false, true));
  EXPECT_THAT(ExpertLayersOf(Read(start + R"("mlp_only_layers": [0, 5, 99]})")),
              ElementsAre(false, true, true, true, true, false));
  const ModelSpec mixed = Read(start + R"("decoder_sparse_step": 3, "mlp_only_layers": [2]})");
  EXPECT_THAT(ExpertLayersOf(mixed), ElementsAre(false, false, false, false, false, true));
  EXPECT_EQ(mixed.intermediate, 6144);
  EXPECT_EQ(mixed.experts.experts, 128);
  const ModelSpec dense = Read(start + R"("num_experts": 0})");
  EXPECT_EQ(dense.experts, ExpertsSpec());
  EXPECT_EQ(dense.intermediate, 6144);
}

TEST(ReadConfig, ExpertsHaveTwoSpellings) {
  for (std::string_view family : {"mixtral", "qwen3_moe", "gpt_oss"}) {
    for (std::string_view key : {"num_experts", "num_local_experts"}) {
      EXPECT_EQ(
          Read(StrCat(R"({"model_type": ")", family, R"(", ")", key, R"(": 16})")).experts.experts,
          16)
          << family << " " << key;
    }
  }
  EXPECT_TRUE(
      Read(R"({"model_type": "qwen3_moe", "norm_topk_prob": true})").experts.normalise_top_k);
}

TEST(ReadConfig, ListsKeysNobodyKnows) {
  const absl::StatusOr<ModelConfig> config = ReadConfigText(
      R"({"model_type": "llama", "zebra": {"a": [1]}, "torch_dtype": "bfloat16",
          "bos_token_id": [1, 2], "hidden_sise": 4, "use_cache": true, "sliding_window": null})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->ignored_keys, ElementsAre("zebra", "hidden_sise"));
}

TEST(ReadConfig, NamesFileLineAndKey) {
  EXPECT_EQ(ErrorOf("{\"model_type\": \"llama\",\n\n\"vocab_size\": 0}"),
            "config.json:3: vocab_size: is 0; it must be 1 to 2147483647");
  EXPECT_THAT(ErrorOf("{\"model_type\": \"llama\",\n \"rope_scaling\": {\n \"type\": \"ntk\"}}"),
              HasSubstr("config.json:3: rope_scaling.type: \"ntk\" is not supported"));
}

TEST(ReadConfig, UnknownModelTypesAreRefusedByName) {
  const std::string message = ErrorOf(R"({"model_type": "qwen2_moe"})");
  EXPECT_THAT(message, HasSubstr("model_type: \"qwen2_moe\" is not supported"));
  EXPECT_THAT(message, HasSubstr("llama, qwen2, qwen3, mistral, mixtral, qwen3_moe, gpt_oss, "
                                 "gemma3_text, olmo2, olmo3, phi3, smollm3, granite, ministral3, "
                                 "exaone4, gemma3, mistral3"));
  EXPECT_THAT(message, HasSubstr("not supported, since it has shared experts; known are llama,"));
  EXPECT_THAT(ErrorOf(R"({"model_type": "deepseek_v3", "n_shared_experts": 1})"),
              HasSubstr("\"deepseek_v3\" is not supported, since it has multi-head latent "
                        "attention, shared experts and a sigmoid router; known are llama,"));
  EXPECT_THAT(ErrorOf(R"({"model_type": "glm4_moe"})"),
              HasSubstr("since it has shared experts and a sigmoid router"));
  EXPECT_THAT(ErrorOf(R"({"model_type": "lama"})"), HasSubstr("did you mean 'llama'?"));
  EXPECT_THAT(ErrorOf(R"({"hidden_size": 1})"), HasSubstr("model_type: required"));
  EXPECT_THAT(ErrorOf(R"({"model_type": 3})"), HasSubstr("model_type: needs a string"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("needs an object"));
}

struct Refusal {
  std::string family;
  std::string fields;
  std::string message;
};

class ReadConfigRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(ReadConfigRefuses, ByName) {
  const Refusal& refusal = GetParam();
  EXPECT_THAT(ErrorOf(StrCat(R"({"model_type": ")", refusal.family, "\", ", refusal.fields, "}")),
              HasSubstr(refusal.message));
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, ReadConfigRefuses,
    testing::Values(
        Refusal{"llama", R"("hidden_size": -1)", "hidden_size: is -1"},
        Refusal{"llama", R"("hidden_size": 4096.0)", "hidden_size: needs an integer"},
        Refusal{"llama", R"("hidden_size": "4096")", "hidden_size: needs an integer"},
        Refusal{"llama", R"("hidden_size": null)", "hidden_size: needs an integer, found null"},
        Refusal{"llama", R"("hidden_size": true)", "hidden_size: needs an integer"},
        Refusal{"llama", R"("hidden_size": 18446744073709551616)", "hidden_size: out of range"},
        Refusal{"llama", R"("intermediate_size": 2147483648)", "intermediate_size: is 2147483648"},
        Refusal{"llama", R"("num_hidden_layers": 100001)", "at most 100000 layers"},
        Refusal{"llama", R"("num_hidden_layers": 0)", "num_hidden_layers: is 0"},
        Refusal{"llama", R"("num_attention_heads": 0)", "num_attention_heads: is 0"},
        Refusal{"llama", R"("num_attention_heads": 31)", "does not divide hidden_size 4096"},
        Refusal{"llama", R"("num_key_value_heads": 5)", "does not divide 32 attention heads"},
        Refusal{"llama", R"("head_dim": 7)", "head_dim: makes heads of 7 channels"},
        Refusal{"llama", R"("hidden_size": 96)", "num_attention_heads: makes heads of 3"},
        Refusal{"llama", R"("head_dim": 0)", "head_dim: is 0"},
        Refusal{"qwen3", R"("head_dim": null)", "head_dim: needs an integer"},
        Refusal{"llama", R"("rms_norm_eps": 0)", "rms_norm_eps: is 0"},
        Refusal{"llama", R"("rms_norm_eps": "1e-6")", "rms_norm_eps: needs a number"},
        Refusal{"llama", R"("initializer_range": -0.5)", "initializer_range: is -0.5"},
        Refusal{"llama", R"("tie_word_embeddings": 1)", "tie_word_embeddings: needs true or false"},
        Refusal{
            "llama",
            R"("hidden_size": 1073741824, "num_attention_heads": 1024, "vocab_size": 2147483647)",
            "does not fit 62 bits"},
        Refusal{"mixtral", R"("num_local_experts": 300000)", "more than 1000000 tensors"}));

INSTANTIATE_TEST_SUITE_P(
    Settings, ReadConfigRefuses,
    testing::Values(
        Refusal{"llama", R"("hidden_act": "gelu")", "hidden_act: \"gelu\" is not supported"},
        Refusal{"gpt_oss", R"("hidden_act": "relu")", "hidden_act: \"relu\" is not supported"},
        Refusal{"llama", R"("attention_dropout": 0.1)", "attention_dropout: 0.1 is not supported"},
        Refusal{"qwen2", R"("attention_dropout": "no")", "attention_dropout: \"no\""},
        Refusal{"llama", R"("pretraining_tp": 2)", "pretraining_tp: 2 is not supported"},
        Refusal{"llama", R"("quantization_config": {"bits": 4})",
                "quantization_config.quant_method: a missing value is not supported"},
        Refusal{"qwen3_moe", R"("n_shared_experts": 1)", "n_shared_experts: 1 is not supported"},
        Refusal{"qwen3_moe", R"("scoring_func": "sigmoid")",
                "scoring_func: \"sigmoid\" is not supported; only softmax, or leaving it out, is"},
        Refusal{"mixtral", R"("shared_expert_intermediate_size": 512)",
                "shared_expert_intermediate_size: 512 is not supported"},
        Refusal{"qwen3_moe", R"("kv_lora_rank": 512)", "kv_lora_rank: 512 is not supported"},
        Refusal{"qwen3_moe", R"("q_lora_rank": 1536)", "q_lora_rank: 1536 is not supported"},
        Refusal{"qwen3_moe", R"("n_group": 8)", "n_group: 8 is not supported"},
        Refusal{"qwen3_moe", R"("topk_group": 4)", "topk_group: 4 is not supported"},
        Refusal{"qwen3_moe", R"("topk_method": "noaux_tc")", "topk_method: \"noaux_tc\""},
        Refusal{"qwen3_moe", R"("routed_scaling_factor": 2.5)", "routed_scaling_factor: 2.5"},
        Refusal{"qwen3_moe", R"("first_k_dense_replace": 3)", "first_k_dense_replace: 3"},
        Refusal{"qwen3_moe", R"("n_routed_experts": 256)", "n_routed_experts: 256"},
        Refusal{"qwen3_moe", R"("use_routing_bias": true)", "use_routing_bias: true"},
        Refusal{"gpt_oss", R"("num_experts_per_tok": 200)",
                "num_experts_per_tok: is 200, but there are 128 experts"},
        Refusal{"llama", R"("partial_rotary_factor": 0.5)", "partial_rotary_factor: 0.5"},
        Refusal{"mixtral", R"("router_jitter_noise": 0.01)", "router_jitter_noise: 0.01"},
        Refusal{"mixtral", R"("output_router_logits": true)", "output_router_logits: true"},
        Refusal{"qwen2", R"("attention_bias": true)", "attention_bias: true is not supported"},
        Refusal{"mistral", R"("attention_bias": true)", "attention_bias: true"},
        Refusal{"qwen3", R"("mlp_bias": true)", "mlp_bias: true is not supported"},
        Refusal{"qwen3", R"("swiglu_limit": 7.0)", "swiglu_limit: 7 is not supported"},
        Refusal{"gpt_oss", R"("swiglu_limit": 0)", "swiglu_limit: is 0"},
        Refusal{"llama", R"("sliding_window": 4096)", "sliding_window: 4096 is not supported"},
        Refusal{"llama", R"("num_local_experts": 8)", "num_local_experts: 8 is not supported"},
        Refusal{"llama", R"("is_encoder_decoder": true)", "is_encoder_decoder: true"},
        Refusal{"qwen2", R"("use_mrope": true)", "use_mrope: true"},
        Refusal{"mixtral", R"("decoder_sparse_step": 2)", "decoder_sparse_step: 2"},
        Refusal{"llama", R"("per_layer_config": {"3": {}})", "per_layer_config: an object"}));

INSTANTIATE_TEST_SUITE_P(
    Layers, ReadConfigRefuses,
    testing::Values(
        Refusal{"mistral", R"("sliding_window": 0)", "sliding_window: is 0"},
        Refusal{"qwen2", R"("max_window_layers": -1)", "max_window_layers: is -1"},
        Refusal{"qwen2", R"("layer_types": ["full_attention"])", "has 1 entries for 32 layers"},
        Refusal{"qwen2", R"("num_hidden_layers": 1, "layer_types": ["sliding_attention"])",
                "layer 0 slides, but no sliding_window is in use"},
        Refusal{"qwen2", R"("num_hidden_layers": 1, "layer_types": ["chunked_attention"])",
                "\"chunked_attention\" of layer 0 is not supported"},
        Refusal{"qwen2", R"("num_hidden_layers": 1, "layer_types": [1])", "layer_types[0]"},
        Refusal{"qwen2", R"("layer_types": "full_attention")", "layer_types: needs an array"},
        Refusal{"mistral", R"("num_hidden_layers": 1, "layer_types": ["full_attention"])",
                "contradicts sliding_window"},
        Refusal{"gpt_oss", R"("sliding_window": null)", "sliding_window: null is not supported"},
        Refusal{"qwen3_moe", R"("use_sliding_window": true, "max_window_layers": 3)",
                "max_window_layers: 3"},
        Refusal{"qwen3_moe", R"("decoder_sparse_step": 0)", "decoder_sparse_step: is 0"},
        Refusal{"qwen3_moe", R"("mlp_only_layers": ["a"])", "mlp_only_layers[0]"},
        Refusal{"qwen3_moe", R"("num_experts": 4)", "num_experts_per_tok: is 8, but there are 4"},
        Refusal{"mixtral", R"("num_local_experts": 0)", "but there are 0 experts"},
        Refusal{"mixtral", R"("num_local_experts": -1)", "num_local_experts: is -1"},
        Refusal{"qwen3_moe", R"("num_experts": 8, "num_local_experts": 16)",
                "num_experts: is 8, but num_local_experts is 16"},
        Refusal{"qwen3_moe", R"("moe_intermediate_size": 0)", "moe_intermediate_size: is 0"}));

}  // namespace
}  // namespace horizon

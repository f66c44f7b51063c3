#include "model/quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/text/str_cat.h"
#include "model/model_report.h"
#include "tests/model/model_specs.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kGptOss = R"("model_type": "gpt_oss")";
constexpr std::string_view kQwen3 = R"("model_type": "qwen3")";

absl::StatusOr<ModelConfig> Read(std::string_view model, std::string_view settings) {
  return ReadConfigText(StrCat("{", model, ",\n\"quantization_config\": ", settings, "}"));
}

TEST(Quantization, IsNoneWhereTheConfigHasNone) {
  for (const std::string_view text :
       {R"({"model_type": "qwen3"})", R"({"model_type": "qwen3", "quantization_config": null})"}) {
    const absl::StatusOr<ModelConfig> config = ReadConfigText(text);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->quantization, Quantization{});
    EXPECT_EQ(ToString(config->quantization), "none");
  }
}

TEST(Quantization, IsThatOfPublishedConfigs) {
  // gpt-oss-20b.
  absl::StatusOr<ModelConfig> config = Read(kGptOss, R"({"modules_to_not_convert":
      ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"],
      "quant_method": "mxfp4"})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->quantization, Quantization{.method = QuantMethod::kMxfp4});
  EXPECT_EQ(ToString(config->quantization), "mxfp4");
  EXPECT_TRUE(config->ignored_keys.empty());
  // It says nothing of the model.
  EXPECT_TRUE(config->spec == ReadConfigText(StrCat("{", kGptOss, "}"))->spec);
  // Qwen3-8B-FP8.
  config = Read(kQwen3, R"({"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
      "modules_to_not_convert": ["lm_head"], "weight_block_size": [128, 128]})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->quantization,
            (Quantization{.method = QuantMethod::kFp8, .block_rows = 128, .block_columns = 128}));
  EXPECT_EQ(ToString(config->quantization), "fp8 in blocks of 128 x 128");
}

TEST(Quantization, Fp8BlocksMayHaveAnySizeAndAUsualOne) {
  absl::StatusOr<ModelConfig> config =
      Read(kQwen3, R"({"quant_method": "fp8", "weight_block_size": [1, 2147483647]})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->quantization.block_rows, 1);
  EXPECT_EQ(config->quantization.block_columns, 2147483647);
  // As transformers 5 saves it.
  config = Read(kQwen3, R"({"quant_method": "fp8", "activation_scheme": "dynamic",
      "dequantize": false, "expert_dtype": "fp8", "modules_to_convert": null,
      "modules_to_not_convert": null, "scale_fmt": "float"})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->quantization.block_rows, 128);
  EXPECT_EQ(config->quantization.block_columns, 128);
}

struct Refusal {
  std::string_view model;
  std::string_view settings;
  std::string_view message;
};

class QuantizationRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(QuantizationRefuses, ByFileLineAndKey) {
  const absl::Status status = Read(GetParam().model, GetParam().settings).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(StartsWith("config.json:2: quantization_config"),
                                                   HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Methods, QuantizationRefuses,
    testing::Values(
        Refusal{kQwen3, R"({"quant_method": "bitsandbytes", "load_in_4bit": true})",
                "quant_method: \"bitsandbytes\" is not supported; mxfp4 (the experts of gpt_oss) "
                "and fp8 (e4m3 with weight_block_size) are"},
        Refusal{kQwen3, R"({"quant_method": "gptq", "bits": 4})", "\"gptq\" is not supported"},
        Refusal{kQwen3, R"({"quant_method": "awq"})", "\"awq\" is not supported; mxfp4"},
        Refusal{kQwen3, R"({"quant_method": "compressed-tensors"})", "\"compressed-tensors\""},
        Refusal{kQwen3, R"({"quant_method": "MXFP4"})", "\"MXFP4\" is not supported"},
        Refusal{kQwen3, R"({"bits": 4})", "quant_method: a missing value is not supported; mxfp4"},
        Refusal{kQwen3, "{}", "quant_method: a missing value"},
        Refusal{kQwen3, R"({"quant_method": 7})", "quant_method: needs a string"},
        Refusal{kQwen3, "\"fp8\"", "quantization_config: needs an object, found a string"},
        Refusal{kQwen3, R"({"quant_method": "mxfp4"})",
                "mxfp4 is supported for gpt_oss, and this is qwen3"},
        Refusal{R"("model_type": "qwen3_moe")", R"({"quant_method": "mxfp4"})",
                "and this is qwen3_moe"},
        Refusal{kGptOss, R"({"quant_method": "fp8"})",
                "fp8 is not supported for gpt_oss; mxfp4 is"},
        Refusal{R"("model_type": "gpt_oss", "intermediate_size": 2864)",
                R"({"quant_method": "mxfp4"})", "multiples of 32; they are 2880 and 2864"}));

INSTANTIATE_TEST_SUITE_P(
    Settings, QuantizationRefuses,
    testing::Values(
        Refusal{kQwen3, R"({"quant_method": "fp8", "activation_scheme": "static"})",
                "activation_scheme: \"static\" is not supported; only dynamic is"},
        Refusal{kQwen3, R"({"quant_method": "fp8", "fmt": "e5m2"})",
                "fmt: \"e5m2\" is not supported; only e4m3 is"},
        Refusal{kQwen3, R"({"quant_method": "fp8", "scale_fmt": "ue8m0"})",
                "scale_fmt: \"ue8m0\" is not supported"},
        Refusal{kQwen3, R"({"quant_method": "fp8", "expert_dtype": "fp4"})",
                "expert_dtype: \"fp4\" is not supported; only fp8 is"},
        Refusal{kQwen3, R"({"quant_method": "fp8", "weight_block_size": null})",
                "weight_block_size: null is not supported; only two numbers"},
        Refusal{kQwen3, R"({"quant_method": "fp8", "weight_block_size": [128]})",
                "weight_block_size: must be two numbers"},
        Refusal{kQwen3, R"({"quant_method": "fp8", "weight_block_size": [128, 0]})",
                "weight_block_size: must be two numbers"},
        Refusal{kQwen3, R"({"quant_method": "fp8", "weight_block_size": [-128, 128]})",
                "weight_block_size: must be two numbers"},
        Refusal{kQwen3, R"({"quant_method": "fp8", "weight_block_size": [128, 2147483648]})",
                "weight_block_size: must be two numbers"},
        Refusal{kQwen3, R"({"quant_method": "fp8", "weight_block_size": 128})",
                "weight_block_size: needs an array"},
        Refusal{kQwen3, R"({"quant_method": "fp8", "weight_block_size": [128.5, 128]})",
                "weight_block_size[0]"},
        Refusal{kQwen3, R"({"quant_method": "fp8", "group_size": 64})",
                "group_size: is not supported: it may change how the weights are dequantised"},
        Refusal{kGptOss, R"({"quant_method": "mxfp4", "weight_block_size": [1, 32]})",
                "weight_block_size: is not supported"}));

TEST(Quantization, OfAMultimodalModelIsRefusedOutsideAndInside) {
  for (const std::string_view text :
       {R"({"model_type": "gemma3", "text_config": {}, "quantization_config":
            {"quant_method": "fp8"}})",
        R"({"model_type": "gemma3", "text_config": {"quantization_config":
            {"quant_method": "fp8"}}})"}) {
    EXPECT_THAT(std::string(ReadConfigText(text).status().message()),
                HasSubstr("quantization_config: an object is not supported"));
  }
}

TEST(Quantization, IsPartOfTheModelsReport) {
  const ModelConfig config = *Read(kQwen3, R"({"quant_method": "fp8"})");
  const TokenBatch tokens{.batch = 1, .sequence = 8};
  EXPECT_THAT(ModelReportText(config.spec, tokens, config.quantization),
              HasSubstr("as bf16 (on disk fp8 in blocks of 128 x 128)\n"));
  EXPECT_THAT(ModelReportText(config.spec, tokens), Not(HasSubstr("on disk")));
  EXPECT_THAT(ModelReportJson(config.spec, tokens, config.quantization),
              HasSubstr(R"("quantization": "fp8 in blocks of 128 x 128")"));
  EXPECT_THAT(ModelReportJson(config.spec, tokens), HasSubstr(R"("quantization": "none")"));
}

}  // namespace
}  // namespace horizon

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/text/str_cat.h"
#include "tests/model/model_specs.h"

namespace horizon {
namespace {

using testing::HasSubstr;

absl::StatusOr<ModelConfig> ReadWith(std::string_view fields, std::string_view family = "llama") {
  return ReadConfigText(StrCat(R"({"model_type": ")", family, "\", ", fields, "}"));
}

RopeSpec RopeOf(std::string_view fields, std::string_view family = "llama") {
  const absl::StatusOr<ModelConfig> config = ReadWith(fields, family);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? config->spec.ropes[0] : RopeSpec();
}

constexpr std::string_view kLlama3 =
    R"("factor": 8.0, "low_freq_factor": 1, "high_freq_factor": 4.0,
       "original_max_position_embeddings": 8192)";

TEST(ReadRope, BothSpellingsGiveTheSame) {
  const RopeSpec expected = {
      .kind = RopeKind::kLlama3, .theta = 500000, .factor = 8, .original_max_positions = 8192};
  for (std::string_view type : {"type", "rope_type"}) {
    EXPECT_EQ(RopeOf(StrCat(R"("rope_theta": 500000, "rope_scaling": {")", type, R"(": "llama3", )",
                            kLlama3, "}")),
              expected);
    EXPECT_EQ(RopeOf(StrCat(R"("rope_parameters": {"rope_theta": 5e5, ")", type, R"(": "llama3", )",
                            kLlama3, "}")),
              expected);
  }
}

TEST(ReadRope, TakesPrecedenceAsTransformersDoes) {
  // Inside goes before beside; rope_scaling, unless empty, before rope_parameters; rope_type before
  // type.
  EXPECT_EQ(RopeOf(R"("rope_theta": 7, "rope_parameters": {"rope_theta": 9})").theta, 9);
  EXPECT_EQ(RopeOf(R"("rope_theta": 7, "rope_parameters": {"rope_type": "default"})").theta, 7);
  EXPECT_EQ(RopeOf(R"("rope_scaling": {"type": "linear", "factor": 2},
                      "rope_parameters": {"rope_type": "linear", "factor": 3})")
                .factor,
            2);
  EXPECT_EQ(RopeOf(R"("rope_scaling": {}, "rope_parameters": {"rope_type": "linear", "factor": 3})")
                .factor,
            3);
  EXPECT_EQ(
      RopeOf(R"("rope_scaling": {"type": "linear", "rope_type": "default", "factor": 2})").kind,
      RopeKind::kDefault);
}

TEST(ReadRope, YarnHasItsOwnDefaults) {
  EXPECT_EQ(RopeOf(R"("max_position_embeddings": 999,
                      "rope_scaling": {"type": "yarn", "factor": 4})"),
            (RopeSpec{.kind = RopeKind::kYarn, .factor = 4, .original_max_positions = 999}));
  EXPECT_EQ(RopeOf(R"("rope_scaling": {"type": "yarn", "factor": 4, "beta_fast": 16, "beta_slow": 2,
                "original_max_position_embeddings": 64, "attention_factor": 1.5, "mscale": 0.5,
                "mscale_all_dim": 0.25, "truncate": false})"),
            (RopeSpec{.kind = RopeKind::kYarn,
                      .factor = 4,
                      .original_max_positions = 64,
                      .beta_fast = 16,
                      .beta_slow = 2,
                      .attention_factor = 1.5,
                      .mscale = 0.5,
                      .mscale_all_dim = 0.25,
                      .truncate = false}));
  // A null factor is the ratio of the two context lengths.
  EXPECT_EQ(RopeOf(R"("max_position_embeddings": 4096, "rope_scaling": {"type": "yarn",
                      "factor": null, "original_max_position_embeddings": 1024})")
                .factor,
            4);
  EXPECT_EQ(RopeOf(R"("rope_scaling": {"type": "yarn", "factor": 4, "attention_factor": null})")
                .attention_factor,
            0);
}

TEST(ReadRope, GptOssKeepsYarnUnlessTold) {
  EXPECT_EQ(RopeOf(R"("rope_theta": 5)", "gpt_oss").kind, RopeKind::kYarn);
  EXPECT_EQ(RopeOf(R"("rope_theta": 5)", "gpt_oss").theta, 5);
  EXPECT_EQ(RopeOf(R"("rope_parameters": {"rope_type": "default"})", "gpt_oss"),
            (RopeSpec{.theta = 150000}));
}

TEST(ReadRope, KeysOfOtherKindsAreHarmless) {
  EXPECT_EQ(RopeOf(R"("rope_scaling": {"type": "default", "factor": 4, "beta_fast": "?"})"),
            RopeSpec());
}

struct Refusal {
  std::string fields;
  std::string message;
};

class ReadRopeRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(ReadRopeRefuses, ByName) {
  const absl::StatusOr<ModelConfig> config = ReadWith(GetParam().fields);
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << GetParam().fields;
  EXPECT_THAT(std::string(config.status().message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, ReadRopeRefuses,
    testing::Values(
        Refusal{R"("rope_theta": 0)", "rope_theta: is 0"},
        Refusal{R"("rope_theta": "1e6")", "rope_theta: needs a number"},
        Refusal{R"("rope_scaling": 2)", "rope_scaling: needs an object"},
        Refusal{R"("rope_scaling": {"type": "dynamic", "factor": 2})",
                "rope_scaling.type: \"dynamic\" is not supported"},
        Refusal{R"("rope_parameters": {"rope_type": "longrope"})",
                "rope_parameters.rope_type: \"longrope\" is not supported"},
        Refusal{R"("rope_parameters": {"rope_type": 3})", "rope_parameters.rope_type: needs a str"},
        Refusal{R"("rope_parameters": {"full_attention": {"rope_type": "default"}})",
                "rope_parameters.full_attention: rotary settings for each layer type"},
        Refusal{R"("rope_parameters": {"partial_rotary_factor": 0.25})",
                "rope_parameters.partial_rotary_factor: 0.25 is not supported"},
        Refusal{R"("rope_scaling": {"type": "default", "mrope_section": [1]})",
                "rope_scaling.mrope_section: unknown rotary setting"},
        Refusal{R"("rope_scaling": {"type": "linear"})", "rope_scaling.factor: required"},
        Refusal{R"("rope_scaling": {"type": "linear", "factor": 0.5})", "factor: is 0.5"},
        Refusal{R"("rope_scaling": {"type": "linear", "factor": "2"})", "factor: needs a number"},
        Refusal{R"("rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 1})",
                "rope_scaling.high_freq_factor: required"},
        Refusal{R"("rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4,
                   "high_freq_factor": 4})",
                "high_freq_factor: is 4; it must be above low_freq_factor (4)"},
        Refusal{R"("rope_scaling": {"type": "yarn"})", "rope_scaling.factor: required"},
        Refusal{R"("rope_scaling": {"type": "yarn", "factor": 2, "beta_fast": 1})",
                "beta_fast: is 1; it must be above beta_slow (1)"},
        Refusal{R"("rope_scaling": {"type": "yarn", "factor": 2, "attention_factor": 0})",
                "attention_factor: is 0"},
        Refusal{R"("rope_scaling": {"type": "yarn", "factor": 2, "mscale": -1})", "mscale: is -1"},
        Refusal{R"("rope_scaling": {"type": "yarn", "factor": 2, "truncate": 1})",
                "truncate: needs true or false"},
        Refusal{R"("rope_scaling": {"type": "yarn", "factor": 2,
                   "original_max_position_embeddings": 0})",
                "original_max_position_embeddings: is 0"},
        // Longer original than present context gives a ratio below one.
        Refusal{R"("rope_scaling": {"type": "yarn", "factor": null,
                   "original_max_position_embeddings": 4096})",
                "factor: is 0.5; it must be at least 1"}));

}  // namespace
}  // namespace horizon

// A job as a person writes it, as the program keeps it, and what it refuses to be.
#include "schedule/training_job.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "common/documents/json.h"
#include "common/documents/yaml.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "tests/schedule/random_plans.h"
#include "tests/schedule/random_records.h"
#include "tests/schedule/record_cases.h"

namespace horizon {
namespace {

absl::StatusOr<TrainingJob> FromJson(std::string_view text) {
  ASSIGN_OR_RETURN(const Document document, ParseJson("job.json", text));
  return ReadJob(document);
}

absl::StatusOr<TrainingJob> FromYaml(std::string_view text) {
  ASSIGN_OR_RETURN(const Document document, ParseYaml("job.yaml", text));
  return ReadJob(document);
}

absl::Status ReadStatus(std::string_view text) { return FromJson(text).status(); }

TEST(TrainingJob, AnEmptyObjectIsTheDefaultJob) {
  const absl::StatusOr<TrainingJob> job = FromJson("{}");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(*job, TrainingJob());
}

TEST(TrainingJob, EveryFieldIsReadFromJsonAndYamlAlike) {
  const std::string_view json = R"({
    "version": 1, "model": "llama-3.1-8b", "data": "tokens/", "device": "cuda",
    "sequence": 4096, "micro_batch": 2, "accumulation": 8, "steps": 77,
    "learning_rate": 3e-4, "learning_rate_schedule": "cosine", "warmup_steps": 5,
    "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-10, "weight_decay": 0.1, "decay_all": true,
    "clip_norm": 0.5, "router_aux_loss": 0.25, "compute_type": "bf16", "activation_type": "bf16",
    "gradient_type": "fp32", "state_format": "8bit-moments", "optimizer_place": "after_step",
    "seed": 9000000000000000000
  })";
  const std::string_view yaml = R"(# the same
version: 1
model: llama-3.1-8b
data: tokens/
device: cuda
sequence: 4096
micro_batch: 2
accumulation: 8
steps: 77
learning_rate: 3e-4
learning_rate_schedule: cosine
warmup_steps: 5
beta1: 0.8
beta2: 0.95
epsilon: 1e-10
weight_decay: 0.1
decay_all: true
clip_norm: 0.5
router_aux_loss: 0.25
compute_type: bf16
activation_type: 'bf16'
gradient_type: "fp32"
state_format: 8bit-moments
optimizer_place: after_step
seed: 9000000000000000000
)";
  TrainingJob expected;
  expected.model = "llama-3.1-8b";
  expected.data = "tokens/";
  expected.device = DeviceKind::kCuda;
  expected.sequence = 4096;
  expected.micro_batch = 2;
  expected.accumulation = 8;
  expected.steps = 77;
  expected.learning_rate = 3e-4;
  expected.learning_rate_schedule = LearningRateSchedule::kCosine;
  expected.warmup_steps = 5;
  expected.beta1 = 0.8;
  expected.beta2 = 0.95;
  expected.epsilon = 1e-10;
  expected.weight_decay = 0.1;
  expected.decay_all = true;
  expected.clip_norm = 0.5;
  expected.router_aux_loss = 0.25;
  expected.compute_type = NumberType::kBf16;
  expected.activation_type = NumberType::kBf16;
  expected.gradient_type = NumberType::kFp32;
  expected.state_format = StateFormat::k8BitMoments;
  expected.optimizer_place = OptimizerPlace::kAfterStep;
  expected.seed = 9'000'000'000'000'000'000;
  const absl::StatusOr<TrainingJob> from_json = FromJson(json);
  ASSERT_TRUE(from_json.ok()) << from_json.status();
  EXPECT_EQ(*from_json, expected);
  const absl::StatusOr<TrainingJob> from_yaml = FromYaml(yaml);
  ASSERT_TRUE(from_yaml.ok()) << from_yaml.status();
  EXPECT_EQ(*from_yaml, expected);
}

RC_GTEST_PROP(TrainingJob, RoundTripsExactly, ()) {
  const TrainingJob job = *RandomJobRecord(AnyText());
  const std::string text = WriteJob(job);
  const absl::StatusOr<TrainingJob> again = FromJson(text);
  RC_LOG() << text << again.status().ToString();
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == job);
  RC_ASSERT(WriteJob(*again) == text);  // -0.0 too, which == does not tell from 0
}

// JSON without control characters is YAML.
RC_GTEST_PROP(TrainingJob, WrittenJobIsReadAsYamlToo, ()) {
  const TrainingJob job = *RandomJobRecord(PlainText());
  const absl::StatusOr<TrainingJob> again = FromYaml(WriteJob(job));
  RC_LOG() << WriteJob(job) << again.status().ToString();
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == job);
}

TEST(TrainingJob, SampleLengthsAreAListOfRecords) {
  const std::vector<SampleLength> lengths = {{.length = 12, .samples = 3},
                                             {.length = 900, .samples = 1}};
  const absl::StatusOr<TrainingJob> json = FromJson(
      R"({"sample_lengths": [{"length": 12, "samples": 3}, {"samples": 1, "length": 900}]})");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->sample_lengths, lengths);
  const absl::StatusOr<TrainingJob> yaml =
      FromYaml("sample-lengths:\n  - length: 12\n    samples: 3\n  - {length: 900, samples: 1}\n");
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  EXPECT_EQ(yaml->sample_lengths, lengths);
  EXPECT_TRUE(FromJson(R"({"sample_lengths": []})")->sample_lengths.empty());
  // Without them a job is written as it always was.
  EXPECT_EQ(WriteJob({}).find("sample_lengths"), std::string::npos);
}

TEST(TrainingJob, SampleLengthsThatCannotBeAreRefused) {
  const auto error = [](std::string_view text) { return std::string(ReadStatus(text).message()); };
  EXPECT_EQ(error(R"({"sample_lengths": 5})"),
            "job.json:1: sample_lengths: needs an array, found an integer 5");
  EXPECT_EQ(error("{\"sample_lengths\": [{\"length\": 4, \"samples\": 1},\n{\"length\": 0, "
                  "\"samples\": 1}]}"),
            "job.json:2: sample_lengths[1].length: needs a value from 1 to 16777216 tokens, "
            "found 0");
  EXPECT_EQ(error(R"({"sample_lengths": [{"length": 4, "samples": -3}]})"),
            "job.json:1: sample_lengths[0].samples: needs a value from 1 to 1e+12 samples, found "
            "-3");
  EXPECT_EQ(error(R"({"sample_lengths": [{"length": 4}]})"),
            "job.json:1: sample_lengths[0].samples: required and missing");
  EXPECT_NE(error(R"({"sample_lengths": [{"length": 4, "samples": 1, "sample": 2}]})"), "");
  EXPECT_NE(error(R"({"sample_lengths": [7]})"), "");

  TrainingJob job;
  const ModelSpec spec{.max_positions = 4096};
  job.sample_lengths = {{.length = 5, .samples = 2}, {.length = -1, .samples = 1}};
  EXPECT_EQ(ValidateJob(spec, job).message(),
            "sample_lengths[1].length: needs a value from 1 to 16777216 tokens, found -1");
  // 2^24 tokens of each of 10^12 samples are more than 2^62.
  job.sample_lengths = {{.length = 1 << 24, .samples = 1'000'000'000'000}};
  EXPECT_NE(ValidateJob(spec, job).message().find("more than 2^62 tokens"), std::string::npos);
  job.sample_lengths.assign(4097, {.length = 1, .samples = 1});
  EXPECT_NE(ValidateJob(spec, job).message().find("has 4097 entries"), std::string::npos);
  job.sample_lengths.pop_back();
  EXPECT_EQ(ValidateJob(spec, job), absl::OkStatus());
}

constexpr FieldRange kRanges[] = {
    {"version", "0", "1", "1", "2"},
    {"sequence", "0", "1", "16777216", "16777217"},
    {"micro_batch", "0", "1", "1048576", "1048577"},
    {"accumulation", "0", "1", "65536", "65537"},
    {"steps", "0", "1", "1000000000000", "1000000000001"},
    {"epochs", "-1", "0", "1000000", "1000001"},
    {"learning_rate", "-5e-324", "0", "1000", "1000.0000000000001"},
    {"warmup_steps", "-1", "0", "1000000000000", "1000000000001"},
    {"schedule_start", "-1", "0", "1000000000000", "1000000000001"},
    {"beta1", "-1e-9", "0", "0.999999999", "0.9999999990000001"},
    {"beta2", "-1", "0.0", "0.999999999", "1"},
    {"epsilon", "-1e-300", "0", "1", "1.0000000000000002"},
    {"weight_decay", "-0.1", "0", "1000", "1001"},
    {"clip_norm", "-1", "0", "1e30", "1.0000000000000001e31"},
    {"router_aux_loss", "-1e-9", "0", "1000", "1000.0000000000001"},
    {"seed", "-1", "0", "9000000000000000000", "9000000000000002048"},
};

TEST(TrainingJob, BothEndsOfEveryRangeAreKept) {
  ExpectRangesKept(WriteJob({}), kRanges, ReadStatus);
}
TEST(TrainingJob, WrongTypesAreRefused) {
  ExpectWrongTypesRefused(WriteJob({.clip_norm = 0.5, .router_aux_loss = 0.5}), ReadStatus);
}
TEST(TrainingJob, MisspelledFieldsAreSuggested) {
  ExpectMisspellingsSuggested(WriteJob({}), ReadStatus);
}
TEST(TrainingJob, HostileTextsAreRefused) { ExpectHostileTextsRefused(ReadStatus); }

TEST(TrainingJob, WrongChoicesNameTheChoicesAndTheNearest) {
  const absl::Status status = ReadStatus("{\n\n\"state_format\": \"bf16-moment\"}");
  EXPECT_EQ(status.message(),
            "job.json:3: state_format: needs one of fp32|bf16-moments|8bit-moments|bf16-weights, "
            "found 'bf16-moment'; did you mean 'bf16-moments'?");
  EXPECT_EQ(ReadStatus(R"({"device": "HOST"})").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadStatus(R"({"device": ""})").code(), absl::StatusCode::kInvalidArgument);
}

TEST(TrainingJob, YamlRefusesWhatJsonRefuses) {
  EXPECT_EQ(FromYaml("version: 1\nsequense: 3\n").status().message(),
            "job.yaml:2: unknown key \"sequense\"; did you mean 'sequence'?");
  EXPECT_EQ(FromYaml("version: 2\n").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FromYaml("sequence: \"3\"\n").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FromYaml("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FromYaml("clip_norm: .inf\n").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FromYaml("clip_norm: .nan\n").status().code(), absl::StatusCode::kInvalidArgument);
}

struct Refusal {
  std::string name;
  std::function<void(TrainingJob&)> change;
  std::string message;  // a part of it
};

TEST(ValidateJob, RefusesWhatDoesNotGoTogether) {
  ModelSpec spec = TinyModel();
  spec.max_positions = 1 << 24;
  const TrainingJob good;
  ModelSpec brief = spec;
  brief.max_positions = 1023;
  EXPECT_EQ(ValidateJob(brief, good).message(),
            "sequence 1024 is longer than the 1023 positions of tiny; use a shorter sequence, or "
            "stretch the positions with --rope-scaling yarn:2");
  ASSERT_TRUE(ValidateJob(spec, good).ok()) << ValidateJob(spec, good);
  const Refusal refusals[] = {
      {"sequence", [](TrainingJob& job) { job.sequence = (1 << 24) + 1; },
       "sequence: needs a value from 1 to 16777216 tokens, found 16777217"},
      {"tokens",
       [](TrainingJob& job) {
         job.sequence = 1 << 24;
         job.micro_batch = (1 << 16) + 1;
       },
       "batch x sequence is 65537 x 16777216; at most 1099511627776 tokens are supported"},
      {"warmup", [](TrainingJob& job) { job.warmup_steps = 1001; },
       "warmup_steps 1001 is more than steps 1000"},
      {"clip in backward",
       [](TrainingJob& job) { job.optimizer_place = OptimizerPlace::kInBackward; },
       "set clip_norm 0, or use behind_forward"},
      {"accumulation in backward",
       [](TrainingJob& job) {
         job.optimizer_place = OptimizerPlace::kInBackward;
         job.clip_norm = 0;
         job.accumulation = 2;
       },
       "accumulation 2 is not possible: use behind_forward"},
      {"no low half",
       [](TrainingJob& job) {
         job.state_format = StateFormat::kBf16Weights;
         job.compute_type = NumberType::kFp32;
       },
       "no low half, so compute_type must be bf16"},
      {"activations on host", [](TrainingJob& job) { job.activation_type = NumberType::kBf16; },
       "activation_type on device host is fp32, found bf16"},
      {"activations on cuda", [](TrainingJob& job) { job.device = DeviceKind::kCuda; },
       "activation_type on device cuda is bf16, found fp32"},
      {"compute on cuda",
       [](TrainingJob& job) {
         job.device = DeviceKind::kCuda;
         job.activation_type = NumberType::kBf16;
         job.compute_type = NumberType::kFp32;
       },
       "fp32 compute needs device host"},
  };
  for (const Refusal& refusal : refusals) {
    TrainingJob job = good;
    refusal.change(job);
    const absl::Status status = ValidateJob(spec, job);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << refusal.name;
    EXPECT_NE(std::string(status.message()).find(refusal.message), std::string::npos)
        << refusal.name << ": " << status;
  }
}

TEST(ValidateJob, AcceptsTheLimits) {
  ModelSpec spec = TinyModel();
  spec.max_positions = 4096;
  TrainingJob job;
  job.sequence = 4096;
  job.warmup_steps = job.steps;
  EXPECT_TRUE(ValidateJob(spec, job).ok());
  job.optimizer_place = OptimizerPlace::kInBackward;
  job.clip_norm = 0;
  EXPECT_TRUE(ValidateJob(spec, job).ok());
}

TEST(BytesOfParameter, FollowsTheTypes) {
  TrainingJob job;  // host, bf16 compute, bf16 gradients
  const auto bytes = [](const TrainingJob& of) {
    const ParameterBytes each = BytesOfParameter(of);
    return StrCat(each.link.value(), " ", each.slot.value(), " ", each.gradient.value(), " ",
                  each.kept_gradient.value(), " ", each.low_half.value());
  };
  EXPECT_EQ(bytes(job), "2 4 2 2 2");
  job.accumulation = 2;
  EXPECT_EQ(bytes(job), "2 4 2 4 2");
  job.compute_type = NumberType::kFp32;
  EXPECT_EQ(bytes(job), "4 4 2 4 2");
  job.gradient_type = NumberType::kFp32;
  job.accumulation = 1;
  EXPECT_EQ(bytes(job), "4 4 4 4 2");
  job = {.device = DeviceKind::kCuda, .state_format = StateFormat::kBf16Weights};
  EXPECT_EQ(bytes(job), "2 2 2 2 0");
}

TEST(MomentBytes, EightBitMomentsHaveOneScaleForEachMomentAndBlock) {
  EXPECT_EQ(MomentBytes(StateFormat::kFp32, 3), 24_B);
  EXPECT_EQ(MomentBytes(StateFormat::kBf16Weights, 3), 24_B);
  EXPECT_EQ(MomentBytes(StateFormat::kBf16Moments, 3), 12_B);
  EXPECT_EQ(MomentBytes(StateFormat::k8BitMoments, 0), 0_B);
  EXPECT_EQ(MomentBytes(StateFormat::k8BitMoments, 1), 2_B + 8_B);
  EXPECT_EQ(MomentBytes(StateFormat::k8BitMoments, 256), 512_B + 8_B);
  EXPECT_EQ(MomentBytes(StateFormat::k8BitMoments, 257), 514_B + 16_B);
}

}  // namespace
}  // namespace horizon

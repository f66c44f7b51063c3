// `horizon train` and `horizon demo` as a person runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/measured_profile.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// With a profile from the catalog nothing is measured, so that tests do not take 5 s each.
std::string Train(const std::string& more) {
  return "\"$horizon\" train --machine cpu-desktop --threads 2 " + more;
}

// What routers do is in every line; the coefficient of their loss is part of the job.
TEST(TrainCommand, AMixtureOfExpertsTellsHowItsTokensAreSpread) {
  PrepareGolden("mixtral");
  const ProcessResult result = RunShell(Train(StrCat(kGoldenRun, "--router-aux-loss 0.02")));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<Document> lines = Lines(RunShell("cat run/metrics.jsonl").out);
  ASSERT_EQ(lines.size(), 8u);
  for (const Document& line : lines) {
    EXPECT_GT(NumberAt(line.root, "router_aux_loss"), 1.9);
    EXPECT_GE(NumberAt(line.root, "busiest_expert"), 0.5);  // two of four experts a token
    EXPECT_LE(NumberAt(line.root, "idlest_expert"), 0.5);
  }
  EXPECT_THAT(RunShell("cat run/job.json").out, HasSubstr("\"router_aux_loss\": 0.02"));
  EXPECT_THAT(RunShell(Train(StrCat(kGoldenRun, "--router-aux-loss -1"))).err,
              HasSubstr("router-aux-loss"));
}

// Chunks that hold one matrix of the feed-forward part.
TEST(TrainCommand, APlanThatCutsLayersTrainsAndEvaluatesWithTheSameLosses) {
  PrepareGolden("qwen3");
  const auto losses = [](const std::string& more) {
    const ProcessResult result =
        RunShell("rm -rf run; " + Train(StrCat(kGoldenRun, "--compute fp32 ",
                                               "--eval-data batches.jsonl --eval-every 4 ", more)));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::string text;
    for (const std::string file : {"metrics", "eval"}) {
      for (const Document& line : Lines(RunShell(StrCat("cat run/", file, ".jsonl")).out)) {
        for (const char* key : {"step", "loss", "gradient_norm"}) {
          text += StrCat(key, " ", absl::StrFormat("%a ", NumberAt(line.root, key)));
        }
      }
    }
    return text;
  };
  const std::string whole = losses("");
  EXPECT_GT(whole.size(), 200u);
  RunShell("echo '{\"chunk_bytes\": 82000, \"buffer_depth\": 3}' > shards.json");
  EXPECT_EQ(losses("--plan shards.json"), whole);
}

TEST(TrainCommand, MeetsPyTorchsLossesAndWritesWhatItSays) {
  for (const std::string family : {"llama", "qwen2", "qwen3", "mistral_window"}) {
    SCOPED_TRACE(family);
    PrepareGolden(family);
    const ProcessResult result =
        RunShell(Train(StrCat(kGoldenRun, "--compute fp32 --log-gradient-norms")));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("trained 8 steps"), HasSubstr("host memory, peak"),
                                  HasSubstr("run/timeline.json")));
    // The plan in five lines before the first step, and how far off it is while steps run.
    for (const char* line :
         {"info: plan: strategy horizon, chunks of ", "info: batch: micro-batch 2 x 40 tokens",
          "info: predicted: ", "info: memory: ", "info: limits: "}) {
      EXPECT_THAT(result.err, HasSubstr(line));
      EXPECT_LT(result.err.find(line), result.err.find("info: step 1/8"));
    }
    EXPECT_THAT(result.err, HasSubstr(" tokens/s (predicted "));
    const ProcessResult files = RunShell("cat model/expected.json");
    const absl::StatusOr<Document> expected = ParseJson("expected.json", files.out);
    const Value::Array& losses = *expected->root.Find("losses")->As<Value::Array>();
    const std::vector<Document> metrics = Lines(RunShell("cat run/metrics.jsonl").out);
    ASSERT_EQ(metrics.size(), 8u);
    for (size_t step = 0; step < 8; ++step) {
      const Value& line = metrics[step].root;
      EXPECT_EQ(NumberAt(line, "step"), static_cast<double>(step + 1));
      const double wanted = *losses[step].As<double>();
      EXPECT_LT(std::abs(NumberAt(line, "loss") / wanted - 1), 5e-5) << step;
      EXPECT_EQ(NumberAt(line, "learning_rate"), 0.01);
      EXPECT_EQ(NumberAt(line, "tokens"), 80);
      for (const char* key : {"gradient_norm", "step_seconds", "tokens_per_second", "host_bytes",
                              "device_bytes", "predicted_step_seconds"}) {
        EXPECT_GT(NumberAt(line, key), 0) << key;
      }
    }
    const Value* norms = metrics[0].root.Find("gradient_norms");
    ASSERT_NE(norms, nullptr);
    for (const auto& [name, norm] : *expected->root.Find("gradient_norms")->As<Value::Object>()) {
      EXPECT_LT(std::abs(NumberAt(*norms, name) / *norm.As<double>() - 1), 2e-5) << name;
    }
    const ProcessResult weights = RunShell("\"$horizon\" weights run/model");
    EXPECT_EQ(weights.exit_code, 0) << weights.err;
    EXPECT_EQ(RunShell("test -s run/timeline.json && test -s run/plan.json && "
                       "test -s run/job.json && test -s run/model/config.json")
                  .exit_code,
              0);
  }
}

// What was predicted beside what was measured, of lanes and operations too, on paper and in
// run.json.
TEST(TrainCommand, TheEndTellsHowFarThePredictionWasOff) {
  PrepareGolden("llama");
  const ProcessResult result = RunShell(Train(StrCat(kGoldenRun, "--json")));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(RunShell("cat run/run.json").out, result.out);
  const absl::StatusOr<Document> run = ParseJson("run.json", result.out);
  ASSERT_TRUE(run.ok()) << run.status();
  for (const char* key : {"step_seconds", "tokens_per_second", "host_bytes", "device_bytes"}) {
    const Value* row = run->root.Find(key);
    ASSERT_NE(row, nullptr) << key;
    EXPECT_GT(NumberAt(*row, "predicted"), 0) << key;
    EXPECT_GT(NumberAt(*row, "measured"), 0) << key;
    EXPECT_NEAR(NumberAt(*row, "error"),
                NumberAt(*row, "measured") / NumberAt(*row, "predicted") - 1, 1e-9)
        << key;
  }
  EXPECT_EQ(NumberAt(*run->root.Find("device_bytes"), "error"), 0);
  // The lanes' busy times are the sums of their operations', and no lane is busy beyond the step.
  double lanes = 0;
  for (const Value& lane : *run->root.Find("lanes")->As<Value::Array>()) {
    lanes += NumberAt(lane, "measured");
    EXPECT_GT(NumberAt(lane, "operations"), 0);
  }
  double kinds = 0;
  for (const Value& kind : *run->root.Find("kinds")->As<Value::Array>()) {
    kinds += NumberAt(kind, "measured");
  }
  EXPECT_NEAR(lanes, kinds, 1e-9);
  EXPECT_GT(lanes, 0);
  const Value::Array& missed = *run->root.Find("missed_most")->As<Value::Array>();
  ASSERT_EQ(missed.size(), 5u);
  double last = 1e9;
  for (const Value& miss : missed) {
    const double difference = std::abs(NumberAt(miss, "measured") - NumberAt(miss, "predicted"));
    EXPECT_LE(difference, last);
    last = difference;
  }
  // A single step has no steady one to compare.
  PrepareGolden("llama");
  const ProcessResult one =
      RunShell(Train("--model model --data batches.jsonl --output run --steps 1 --sequence 40"));
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, ::testing::Not(HasSubstr("lane compute")));
}

TEST(TrainCommand, AYamlFileSaysTheSameAsFlagsAndAFlagWins) {
  PrepareGolden("llama");
  WriteFile("job.yaml",
            "model: model\ndata: batches.jsonl\nshuffle: \"false\"\noutput: run\nsteps: 5\n"
            "sequence: 40\nmicro-batch: 2\ncompute: fp32\ndecay-all: true\n");
  const ProcessResult result = RunShell(Train("--config job.yaml --steps 2"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Lines(RunShell("cat run/metrics.jsonl").out).size(), 2u);
  EXPECT_THAT(RunShell("cat run/job.json").out,
              AllOf(HasSubstr("\"compute_type\": \"fp32\""), HasSubstr("\"decay_all\": true")));
}

TEST(TrainCommand, APlanFileIsFollowed) {
  PrepareGolden("llama");
  WriteFile("plan.json", R"({"buffer_depth": 3, "anchor_interval": 2, "compute_threads": 2})");
  const ProcessResult result =
      RunShell(Train(StrCat(kGoldenRun, "--compute fp32 --plan plan.json")));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("depth 3, K 2"));
  EXPECT_THAT(RunShell("cat run/plan.json").out, HasSubstr("\"buffer_depth\": 3"));
}

TEST(TrainCommand, TwoRunsOfOneJobHaveTheSameLosses) {
  PrepareGolden("qwen3");
  const std::string job = StrCat(kGoldenRun, "--seed 5 --state bf16-moments ");
  ASSERT_EQ(RunShell(Train(job)).exit_code, 0);
  ASSERT_EQ(RunShell("mv run first").exit_code, 0);
  ASSERT_EQ(RunShell(Train(job + "--link 200MB/s")).exit_code, 0);
  EXPECT_EQ(
      RunShell("cmp first/model/model.safetensors run/model/model.safetensors && rm -rf first")
          .exit_code,
      0);
}

// The process stays within the prediction, and not far below it (3 % + 64 MiB).
TEST(TrainCommand, PeakMemoryIsWhatWasPredicted) {
  PrepareGolden("llama");
  struct Size {
    int hidden, layers;
    const char* more;
  };
  for (const Size size :
       {Size{64, 2, ""}, Size{512, 8, "--state bf16-moments"},
        Size{512, 12, "--optimizer-place in_backward --clip-norm 0"},
        Size{768, 12, "--compute fp32"}, Size{512, 12, "--train 'model.layers.11.*'"},
        Size{512, 12, "--compute fp32 --freeze '*mlp*'"}}) {
    SCOPED_TRACE(size.hidden);
    WriteFile("config.json",
              StrCat(R"({"model_type": "llama", "hidden_size": )", size.hidden,
                     R"(, "intermediate_size": )", size.hidden * 3, R"(, "num_hidden_layers": )",
                     size.layers, R"(, "num_attention_heads": )", size.hidden / 64,
                     R"(, "vocab_size": 8192, "max_position_embeddings": 64})"));
    const ProcessResult result = RunShell(
        "rm -rf run && " + Train(StrCat("--model config.json --init random --data batches.jsonl "
                                        "--output run --steps 2 --sequence 40 --micro-batch 2 "
                                        "--json ",
                                        size.more)));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, ::testing::Not(HasSubstr("more memory than was predicted")));
    const absl::StatusOr<Document> answer = ParseJson("answer", result.out);
    ASSERT_TRUE(answer.ok()) << answer.status();
    const Value& host = *answer->root.Find("host_bytes");
    const double predicted = NumberAt(host, "predicted");
    const double measured = NumberAt(host, "measured");
    EXPECT_LE(measured, predicted);
    EXPECT_GE(measured, predicted * 0.97 - (64 << 20));
    const Value& device = *answer->root.Find("device_bytes");
    EXPECT_EQ(NumberAt(device, "measured"), NumberAt(device, "predicted"));
  }
}

void ExpectRefusal(const std::string& command, int exit_code, const std::string& words) {
  const ProcessResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, exit_code) << command << "\n" << result.err;
  EXPECT_THAT(result.err, HasSubstr(words)) << command;
}

TEST(TrainCommand, RefusesWithTheReasonAndTouchesNothing) {
  PrepareGolden("llama");
  WriteFile("bad.jsonl", "{\"input_ids\": [1, 2, 3]}\n{\"input_ids\": [1, 99999]}\n");
  const std::string base = "--model model --output run --sequence 40 --data ";
  ExpectRefusal(Train(base + "nowhere.jsonl"), 2, "nowhere.jsonl");
  ExpectRefusal(Train(base + "bad.jsonl"), 2, "bad.jsonl:2: ");
  ExpectRefusal(Train("--model model --output run --sequence 20 --data batches.jsonl"), 2,
                "batches.jsonl:1: ");
  ExpectRefusal(Train(base + "batches.jsonl --optimizer-place in_backward"), 2, "clip");
  ExpectRefusal(Train(base + "batches.jsonl --device-memory 1MiB"), 3, "device memory");
  ExpectRefusal(Train(base + "batches.jsonl --plan missing.json"), 2, "missing.json");
  ExpectRefusal("\"$horizon\" train --machine gh200 " + base + "batches.jsonl", 2, "GPU");
  ExpectRefusal(Train("--model qwen2.5-0.5b --output run --data batches.jsonl --sequence 40"), 2,
                "--init random");
  // A plan that is given is not the planner's, and the profile is not this machine: what is free is
  // looked at all the same, before anything is reserved.
  WriteFile("plan.json", R"({"chunk_bytes": "2 GiB"})");
  ExpectRefusal(Train("--model llama-3.1-70b --init random --output run --data batches.jsonl "
                      "--sequence 40 --plan plan.json"),
                3, "are free");
  EXPECT_NE(RunShell("test -e run").exit_code, 0);
  WriteFile("there/already", "mine");
  ExpectRefusal(Train("--model model --output there --sequence 40 --data batches.jsonl"), 2,
                "there");
  EXPECT_EQ(RunShell("cat there/already && rm -rf there").out, "mine");
}

TEST(TrainCommand, ARunThatDivergesIsExitCodeSevenWithTheStep) {
  PrepareGolden("llama");
  ExpectRefusal(Train("--model model --output run --sequence 40 --data batches.jsonl --steps 20 "
                      "--learning-rate 1000 --weight-decay 1 --clip-norm 0"),
                7, "step ");
}

// Without checkpoints the model itself is what is left.
TEST(TrainCommand, AnInterruptFinishesTheStepAndWritesTheModel) {
  PrepareGolden("llama");
  const ProcessResult result = RunShell(
      "(" +
      Train("--model model --output run --sequence 40 --data batches.jsonl --steps 1000000 "
            "--save none") +
      ") & pid=$!; while ! test -s run/metrics.jsonl; do sleep 0.05; done; "
      "pkill -INT -P $pid || kill -INT $pid; wait $pid");
  EXPECT_EQ(result.exit_code, 75) << result.err;
  EXPECT_THAT(result.err, HasSubstr("stopped by a signal after step "));
  EXPECT_EQ(RunShell("\"$horizon\" weights run/model").exit_code, 0);
}

TEST(DemoCommand, TrainsAndShowsPredictionAndMeasurement) {
  UseMeasuredProfile();
  const ProcessResult result = RunShell("\"$horizon\" demo --output demo --steps 2");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("trained 2 steps"), HasSubstr("predicted"),
                                HasSubstr("demo/run/timeline.json")));
  ExpectRefusal("\"$horizon\" demo --output demo --steps 2", 2, "is there already");
}

}  // namespace
}  // namespace horizon

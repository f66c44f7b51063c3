// How long a run is, as a person says it: in epochs, from several files, and longer afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/text/str_cat.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Questions of `count` different lengths.
std::string Questions(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    lines +=
        StrCat(R"({"query": "What is )", i, " plus ", i % 7, i % 3 == 0 ? " and nothing else" : "",
               R"(?", "response": "It is )", i + i % 7, ".\"}\n");
  }
  return lines;
}

// A model of two layers, and a profile of the catalog, so that nothing is measured.
void Prepare() {
  ASSERT_EQ(RunShell("rm -rf run whole again data").exit_code, 0);
  WriteFile("config.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 32, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": false})");
  WriteFile("qa.jsonl", Questions(91));
  WriteFile("job.yaml",
            "machine: cpu-desktop\nthreads: 2\nmodel: config.json\ninit: random\n"
            "data: qa.jsonl\ntokenizer: byte\nsequence: 64\nmicro-batch: 2\naccumulate: 2\n"
            "learning-rate: 1e-3\ndevice-memory: 128MiB\nsave-every: 7\nkeep: 99\n");
}

// A flag wins over the file.
std::string Train(const std::string& output, const std::string& more = "") {
  return StrCat("\"$horizon\" train --config job.yaml --output ", output, " ", more);
}

constexpr char kSameEnd[] =
    "a=$(ls -d whole/checkpoints/step-* | tail -1); b=run/checkpoints/$(basename $a); "
    "cmp $a/model.safetensors $b/model.safetensors && cmp $a/low.safetensors $b/low.safetensors && "
    "cmp $a/moments.safetensors $b/moments.safetensors && "
    "cmp whole/model/model.safetensors run/model/model.safetensors && "
    "diff <(cut -d, -f1-5 whole/metrics.jsonl) <(cut -d, -f1-5 run/metrics.jsonl)";

TEST(TrainEpochs, AreCountedSaidAndKeptInTheFolder) {
  Prepare();
  ProcessResult result = RunShell(Train("whole", "--epochs 2"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("2 epochs of 91 samples: "), HasSubstr(" rows in ")));
  result = RunShell("grep -c . whole/metrics.jsonl; grep -E '^(steps|epochs)' whole/train.yaml");
  EXPECT_THAT(result.out, AllOf(HasSubstr("epochs: 2\n"), Not(HasSubstr("steps"))));
  // The same command again has nothing to do.
  result = RunShell("\"$horizon\" train --config whole/train.yaml --resume auto");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("is complete"));
}

// Rows depend on the lengths of samples, their order and what is held out: both commands count
// alike.
TEST(TrainEpochs, ArePlannedWithTheStepsThatTrainingDoes) {
  const std::string data = "--data qa.jsonl --tokenizer byte --epochs 3 ";
  const std::string job =
      "--model config.json --machine cpu-desktop --sequence 64 --batch 2 "
      "--accumulate 2 ";
  for (const std::string more : {"", "--eval-share 0.2 ", "--packing false ", "--shuffle false "}) {
    Prepare();
    const ProcessResult trained = RunShell(Train("whole", StrCat("--epochs 3 ", more)));
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    const std::string steps = RunShell("grep -c . whole/metrics.jsonl | tr -d '\\n'").out;
    const ProcessResult planned =
        RunShell(StrCat("\"$horizon\" plan --output p.json --price-per-hour 2 ", job, data, more));
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    EXPECT_THAT(planned.out, HasSubstr(StrCat(" for ", steps, " steps (3 epochs of "))) << more;
    EXPECT_THAT(planned.out, HasSubstr(" at 2 an")) << more;
    // Both know how long the samples are, so that they count the same attention.
    const auto lengths_in = [](const std::string& job_file) {
      return RunShell(StrCat("sed -n '/sample_lengths/,/\\]/p' ", job_file)).out;
    };
    EXPECT_THAT(lengths_in("p.job.json"), HasSubstr("\"length\": ")) << more;
    EXPECT_EQ(lengths_in("p.job.json"), lengths_in("whole/job.json")) << more;
    // A plan file says the batch.
    const ProcessResult simulated = RunShell(
        StrCat("\"$horizon\" simulate --plan p.json --machine cpu-desktop --json ", data, more));
    EXPECT_THAT(simulated.out, HasSubstr(StrCat("\"steps\": ", steps, ","))) << more;
  }
  const ProcessResult compared = RunShell(StrCat("\"$horizon\" compare --machine t4 ", job, data));
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("time for 3 epochs of 91 samples"));
}

TEST(TrainEpochs, ArePlannedFromDataOnly) {
  Prepare();
  const std::string plan =
      "\"$horizon\" plan --model config.json --machine cpu-desktop "
      "--sequence 64 --batch 2 ";
  for (const auto& [options, message] : std::map<std::string, std::string>{
           {"--epochs 3", "name them with --data"},
           {"--data qa.jsonl --tokens 10M", "give one of them"},
           {"--data qa.jsonl", "choose --tokenizer byte"},
           {"--data nowhere.jsonl --tokenizer byte", "nowhere.jsonl"},
           {"--data qa.jsonl:-1 --tokenizer byte", "qa.jsonl"},
           {"--data qa.jsonl --tokenizer byte --epochs 0", "--epochs"}}) {
    const ProcessResult refused = RunShell(StrCat(plan, options));
    EXPECT_NE(refused.exit_code, 0) << options;
    EXPECT_EQ(refused.out, "") << options;
    EXPECT_THAT(refused.err, HasSubstr(message)) << options;
  }
  // One pass where nothing else is said.
  EXPECT_THAT(RunShell(StrCat(plan, "--data qa.jsonl --tokenizer byte")).out,
              HasSubstr("(1 epoch of 91 samples in "));
}

TEST(TrainEpochs, ARunKilledAtAnyMomentEndsLikeTheOneThatWasNot) {
  Prepare();
  ProcessResult result = RunShell(Train("whole", "--epochs 3 --save-every 2"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  result = RunShell(
      StrCat("code=137; tries=0; while [ $code -ne 0 ]; do\n"
             "  tries=$((tries + 1)); [ $tries -lt 60 ] || exit 99\n  ",
             Train("run", "--epochs 3 --save-every 2 --resume auto 2>>log"),
             " &\n  pid=$!; ms=$((100 + RANDOM % 300 + tries * tries * 2))\n"
             "  sleep $((ms / 1000)).$(printf %03d $((ms % 1000))); kill -9 $pid 2>/dev/null\n"
             "  wait $pid; code=$?\n"
             "  [ $code -eq 0 ] || [ $code -eq 137 ] || { tail -5 log; exit 98; }\ndone\n",
             kSameEnd));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(TrainEpochs, AndStepsAreTwoWaysToSayOneThing) {
  Prepare();
  ProcessResult result = RunShell(Train("run", "--epochs 2 --steps 30"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--steps 30"), HasSubstr("--epochs 2")));
  // Of a file and a flag, the flag wins.
  RunShell("echo 'steps: 30' >> job.yaml");
  result = RunShell(Train("run", "--epochs 1"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 epoch of 91 samples"));
  // And the other way round, for a run that goes on.
  result = RunShell(
      "\"$horizon\" train --config run/train.yaml --steps 30 --resume auto && "
      "grep -c . run/metrics.jsonl && grep -E '^(steps|epochs)' run/train.yaml");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\n30\nsteps: 30\n"), Not(HasSubstr("epochs:"))));
  RunShell("echo 'epochs: 2' >> job.yaml");
  EXPECT_EQ(RunShell(Train("again")).exit_code, 2);
}

TEST(TrainData, SeveralFilesAndFoldersAreOneEpoch) {
  Prepare();
  RunShell("mkdir -p data/more && touch data/.hidden data/script.py");
  WriteFile("data/b.jsonl", Questions(20));
  WriteFile("data/more/a.txt", "A text of its own, which is no question and has no answer.");
  ProcessResult result = RunShell(Train("whole", "--data qa.jsonl --data data --epochs 1"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("data folder data: 2 files: b.jsonl, more/a.txt"),
                    HasSubstr("2 files are hidden or not named as data and are not read: .hidden, "
                              "script.py"),
                    HasSubstr("1 epoch of 112 samples"),
                    HasSubstr("an epoch has 21 of the 21 samples of data: 1 pass")));
  result = RunShell("cat whole/train.yaml; \"$horizon\" data check --tokenizer byte --json data");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("/qa.jsonl\", \""), HasSubstr("\"samples\": 21")));
  // Killed and taken up from the folder.
  result = RunShell(StrCat(
      "code=137; tries=0; while [ $code -ne 0 ]; do\n"
      "  tries=$((tries + 1)); [ $tries -lt 60 ] || exit 99\n  ",
      Train("run", "--data qa.jsonl --data data --epochs 1 --save-every 2 --resume auto 2>>log"),
      " &\n  pid=$!; ms=$((100 + RANDOM % 300 + tries * tries * 2))\n"
      "  sleep $((ms / 1000)).$(printf %03d $((ms % 1000))); kill -9 $pid 2>/dev/null\n"
      "  wait $pid; code=$?\n"
      "  [ $code -eq 0 ] || [ $code -eq 137 ] || { tail -5 log; exit 98; }\ndone\n",
      kSameEnd));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  // Another file in the folder is other data.
  result = RunShell(
      "cp qa.jsonl data/c.jsonl; \"$horizon\" train --config run/train.yaml --resume "
      "auto --epochs 2");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("data_fingerprint"));
}

TEST(TrainData, WeightsSayHowOftenAFileIsDrawn) {
  Prepare();
  WriteFile("b.jsonl", Questions(30));
  WriteFile("c:2", Questions(10));
  const std::string data = "--data qa.jsonl:1 --data b.jsonl:3 ";
  ProcessResult result = RunShell(Train("run", data + "--epochs 1"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  // By hand: 121 samples an epoch, of which 30.25 and 90.75 are rounded.
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("an epoch has 30 of the 91 samples of qa.jsonl: 0.33 passes"),
                    HasSubstr("an epoch has 91 of the 30 samples of b.jsonl: 3.03 passes")));
  result = RunShell("\"$horizon\" train --config run/train.yaml --resume auto");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  result = RunShell(Train("run", "--data qa.jsonl:1 --data b.jsonl:2 --epochs 2 --resume auto"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("data_fingerprint"));
  result = RunShell(Train("again", "--data qa.jsonl --data b.jsonl:2 --epochs 1"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("1 of 2 data sources have a weight"));
  for (const char* wrong : {"qa.jsonl:0", "qa.jsonl:-1", "qa.jsonl:inf"}) {
    result = RunShell(Train("again", StrCat("--data b.jsonl:1 --epochs 1 --data ", wrong)));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("is not a number above 0")) << wrong;
  }
  result = RunShell(Train("again", "--data none.jsonl:2 --epochs 1"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("none.jsonl"));
  // A colon may be part of a name.
  result = RunShell(Train("again", "--data c:2 --data-kind qa --epochs 1"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 epoch of 10 samples"));
}

TEST(ExtendRun, WhatTheProgramAdvisesWorks) {
  Prepare();
  const std::string cosine = "--lr-schedule cosine --warmup 2 ";
  ProcessResult result = RunShell(Train("run", cosine + "--steps 8"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  result = RunShell("\"$horizon\" train --config run/train.yaml --resume auto");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("raise --steps and give --restart-schedule to train on"));
  result = RunShell("\"$horizon\" train --config run/train.yaml --resume auto --steps 30");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("with --restart-schedule weights and moments stay"));
  RunShell("cp -r run whole; sed -i 's|/run\"|/whole\"|' whole/train.yaml");
  const std::string extend =
      "train.yaml --resume auto --steps 30 --restart-schedule --save-every 3";
  result = RunShell("\"$horizon\" train --config whole/" + extend);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(
      result.err,
      HasSubstr("a new learning-rate schedule (cosine) begins after step 8, over 22 steps"));
  EXPECT_EQ(RunShell("grep restart whole/train.yaml").exit_code, 1);
  // Killed again and again; only the first start has the flag.
  result = RunShell(
      StrCat("code=137; tries=0; more='--steps 30 --restart-schedule --save-every 3'\n"
             "while [ $code -ne 0 ]; do\n"
             "  tries=$((tries + 1)); [ $tries -lt 60 ] || exit 99\n"
             "  \"$horizon\" train --config run/train.yaml --resume auto $more 2>>log &\n"
             "  pid=$!; ms=$((100 + RANDOM % 300 + tries * tries * 2))\n"
             "  sleep $((ms / 1000)).$(printf %03d $((ms % 1000))); kill -9 $pid 2>/dev/null\n"
             "  wait $pid; code=$?\n"
             "  [ $code -eq 0 ] || [ $code -eq 137 ] || { tail -5 log; exit 98; }\n"
             "  grep -q 'steps: 30' run/train.yaml && more=''\ndone\n",
             kSameEnd));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(ExtendRun, WeightsAloneBecomeAModelToBeginWith) {
  Prepare();
  ProcessResult result = RunShell(Train("run", "--steps 8 --save weights"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  result = RunShell(Train("again", "--steps 9 --resume run"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--output FOLDER makes a model of it"));
  result = RunShell(
      "rm -rf made again; \"$horizon\" export run/checkpoints/step-00000008 --output made && " +
      Train("again", "--model made --init weights --steps 2"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

}  // namespace
}  // namespace horizon

// Runs that are killed, stopped, saved and taken up again, as a person or a scheduler does it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "common/text/str_cat.h"
#include "tests/app/support/event_files.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A model of four layers and questions of three kinds of length; the profile is the catalog's, so
// that nothing is measured.
void Prepare() {
  ASSERT_EQ(RunShell("rm -rf run whole new bf16 fp32").exit_code, 0);
  WriteFile("config.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 32, "intermediate_size": 80, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": false})");
  std::string lines;
  for (int i = 0; i < 90; ++i) {
    lines +=
        StrCat(R"({"query": "What is )", i, " plus ", i % 7, i % 3 == 0 ? " and nothing else" : "",
               R"(?", "response": "It is )", i + i % 7, ".\"}\n");
  }
  WriteFile("qa.jsonl", lines);
  WriteFile("job.yaml",
            "machine: cpu-desktop\nthreads: 2\nmodel: config.json\ninit: random\n"
            "data: qa.jsonl\ntokenizer: byte\nsteps: 60\nsequence: 64\nmicro-batch: 2\n"
            "learning-rate: 1e-3\ndevice-memory: 128MiB\nsave-every: 7\neval-share: 0.1\n"
            "eval-every: 20\n");
}

// A flag wins over the file.
std::string Train(const std::string& output, const std::string& more = "") {
  return StrCat("\"$horizon\" train --config job.yaml --output ", output, " ", more);
}

constexpr char kSame[] =
    "cmp whole/model/model.safetensors run/model/model.safetensors && "
    "cmp whole/checkpoints/step-00000060/moments.safetensors "
    "run/checkpoints/step-00000060/moments.safetensors && "
    "cmp whole/eval.jsonl run/eval.jsonl && "
    "diff <(cut -d, -f1-3 whole/metrics.jsonl) <(cut -d, -f1-3 run/metrics.jsonl)";

TEST(ResumeCommand, ARunKilledAtAnyMomentEndsLikeTheOneThatWasNot) {
  Prepare();
  ProcessResult result = RunShell(Train("whole"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  // Killed again and again, each time a little later; resumed with other plans.
  result = RunShell(
      StrCat("set -u; code=137; tries=0\n"
             "plans=('' '--device-memory 80MiB' '--threads 1' '--device-memory 100MiB')\n"
             "while [ $code -ne 0 ]; do\n"
             "  tries=$((tries + 1)); [ $tries -lt 100 ] || exit 99\n"
             "  ",
             Train("run", "--metrics tensorboard --resume auto ${plans[$((tries % 4))]} 2>>log"),
             " &\n"
             "  pid=$!; ms=$((100 + RANDOM % 400 + tries * tries * 2))\n"
             "  sleep $((ms / 1000)).$(printf %03d $((ms % 1000))); kill -9 $pid 2>/dev/null\n"
             "  wait $pid; code=$?\n"
             "  [ $code -eq 0 ] || [ $code -eq 137 ] || { tail -5 log; exit 98; }\n"
             "done\n"
             "echo \"tries $tries\"; ",
             kSame));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("tries 1\n")));
  // TensorBoard shows what the lines have: every step once, whatever was killed.
  std::map<std::string, std::map<int64_t, float>> shown = ScalarsOf("run");
  EXPECT_EQ(shown["train/loss"], FiguresOf("run/metrics.jsonl", "loss"));
  EXPECT_EQ(shown["train/grad_norm"], FiguresOf("run/metrics.jsonl", "gradient_norm"));
  EXPECT_EQ(shown["train/learning_rate"], FiguresOf("run/metrics.jsonl", "learning_rate"));
  EXPECT_EQ(shown["train/loss"].size(), 60u);
  EXPECT_EQ(shown["eval/loss"], FiguresOf("run/eval.jsonl", "loss"));
  EXPECT_EQ(shown["eval/loss"].size(), 3u);
}

TEST(ResumeCommand, ASignalSavesAndTheRunGoesOn) {
  Prepare();
  ProcessResult result = RunShell(Train("whole"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const std::string signal : {"TERM", "USR1"}) {
    SCOPED_TRACE(signal);
    result =
        RunShell(StrCat("rm -rf run; cat > start.py <<'E'\n"
                        "import os, signal, sys\n"
                        "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
                        "os.execv(sys.argv[1], sys.argv[1:])\nE\n",
                        "python3 start.py ", Train("run", "--save-every 1000 --steps 60 2>err"),
                        " &\n"
                        "pid=$!; until [ -s run/metrics.jsonl ]; do sleep 0.01; done\n"
                        "kill -",
                        signal, " $pid; wait $pid; echo \"code $?\"; cat err"));
    if (result.out.find("code 0") != std::string::npos) continue;  // it was over already
    EXPECT_THAT(result.out, HasSubstr("code 75")) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("horizon train --config run/train.yaml --resume auto"),
                                  HasSubstr("holds its state")));
    result =
        RunShell(StrCat("rm -rf run; ", Train("run", "--save-every 1000 2>err"),
                        " &\npid=$!; until [ -s run/metrics.jsonl ]; do sleep 0.01; done\nkill -",
                        signal, " $pid; wait $pid; echo \"code $?\"; cat err"));
    if (result.out.find("code 0") != std::string::npos) continue;  // it was over already
    EXPECT_THAT(result.out, HasSubstr("code 75")) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("horizon train --config run/train.yaml --resume auto"),
                                  HasSubstr("holds its state")));
    result = RunShell(StrCat(
        "\"$horizon\" train --config run/train.yaml --save-every 7 --resume auto && ", kSame));
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  }
}

// A run that goes on at a step with an evaluation evaluates it again, for its summary.
TEST(ResumeCommand, AnEvaluationThatIsMadeAgainIsWrittenOnce) {
  Prepare();
  const ProcessResult result =
      RunShell(StrCat(Train("run", "--metrics tensorboard --steps 20"), " && ",
                      Train("run", "--metrics tensorboard --steps 40 --resume auto")));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, std::map<int64_t, float>> shown = ScalarsOf("run");
  EXPECT_EQ(shown["eval/loss"], FiguresOf("run/eval.jsonl", "loss"));
  EXPECT_EQ(shown["eval/loss"].size(), 2u);
  EXPECT_EQ(shown["train/loss"].size(), 40u);
}

// As when it is killed between the two.
TEST(ResumeCommand, ARunThatWasSavedAndNotEvaluatedMakesTheEvaluation) {
  Prepare();
  const std::string often = "--save-every 10 --eval-every 10 --keep 9";
  ProcessResult result = RunShell(Train("whole", often));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  result = RunShell(
      "cp -r whole run && rm -rf run/model run/checkpoints/step-0000004? "
      "run/checkpoints/step-0000005? run/checkpoints/step-0000006? && "
      "sed -i '/\"step\": *30[,}]/,$d' run/eval.jsonl && wc -l < run/eval.jsonl");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "2\n");
  result = RunShell(StrCat(Train("run", often + " --resume auto"), " && ", kSame));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(ResumeCommand, RefusesWhatDoesNotGoTogether) {
  Prepare();
  ProcessResult result = RunShell(Train("run", "--steps 10"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  result = RunShell(Train("run", "--steps 20"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("not empty"), HasSubstr("--resume auto")));
  result = RunShell(Train("run", "--steps 10 --resume auto"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("complete"), HasSubstr("--steps")));
  result = RunShell(Train("run", "--steps 20 --resume auto --learning-rate 2e-3 --seed 4"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("learning_rate: saved 0.001, asked 0.002"),
                                HasSubstr("seed: saved 0, asked 4")));
  result = RunShell("echo '{\"query\": \"a\", \"response\": \"b\"}' >> qa.jsonl\n" +
                    Train("run", "--steps 20 --resume auto"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("data"));
  Prepare();
  result = RunShell(Train("run", "--steps 20 --resume nowhere"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no checkpoint"));
  // More steps are allowed with a constant learning rate.
  result = RunShell(Train("run", "--steps 12 --resume auto"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(ResumeCommand, DamageIsNamedAndTheOlderOneIsTheUsersChoice) {
  Prepare();
  ProcessResult result = RunShell(Train("run", "--steps 21"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  result = RunShell(
      "printf 'X' | dd of=run/checkpoints/step-00000021/moments.safetensors bs=1 seek=9000 "
      "conv=notrunc 2>/dev/null; " +
      Train("run", "--steps 30 --resume auto"));
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, AllOf(HasSubstr("step-00000021"), HasSubstr("moments.safetensors")));
  result = RunShell(Train("run", "--steps 30 --resume run/checkpoints/step-00000014"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(ResumeCommand, TwoProcessesDoNotShareAFolder) {
  Prepare();
  const ProcessResult result = RunShell(
      StrCat(Train("run", "--steps 100000 --save-every 5 2>/dev/null"),
             " &\n"
             "pid=$!; until [ -d run/checkpoints/step-00000005 ]; do sleep 0.01; done\n",
             Train("run", "--steps 100000 --resume auto"),
             "; echo \"code $?\"; \"$horizon\" checkpoint prune run --keep 2; echo \"prune $?\"\n"
             "kill -9 $pid; wait $pid 2>/dev/null; true"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("code 3"), HasSubstr("prune 3"))) << result.err;
  EXPECT_THAT(result.err, HasSubstr("process"));
}

TEST(ResumeCommand, TooLittleDiskNamesTheModeThatFits) {
  Prepare();
  // A run folder on a file system of 1 MiB, where this test may mount one.
  const ProcessResult result = RunShell(
      "mkdir -p small && mount -t tmpfs -o size=1m none small 2>/dev/null || { echo skip; exit; "
      "}\n" +
      Train("small/run") + "; echo \"code $?\"; echo left: $(ls small)\n" +
      Train("small/run2", "--save none") + "; echo \"none $?\"; umount small");
  if (result.out.find("skip") != std::string::npos) GTEST_SKIP() << "no right to mount";
  EXPECT_THAT(result.out, AllOf(HasSubstr("code 3"), HasSubstr("left:\n"), HasSubstr("none 0")));
  EXPECT_THAT(result.err, AllOf(HasSubstr("--save weights"), HasSubstr("3 checkpoints need")));
}

TEST(ExportCommand, GivesTheModelOfTheRun) {
  Prepare();
  ProcessResult result = RunShell(
      Train("run", "--steps 14") +
      " && \"$horizon\" export run --output bf16 && "
      "cmp bf16/model.safetensors run/model/model.safetensors && cmp bf16/config.json "
      "run/model/config.json && \"$horizon\" export run/checkpoints/step-00000014 --dtype fp32 "
      "--output fp32 && \"$horizon\" weights fp32 --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("F32"));
  result = RunShell("\"$horizon\" export run --output bf16");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("not empty"));
  result = RunShell("\"$horizon\" export nowhere --output new; echo \"code $?\"; ls new");
  EXPECT_THAT(result.out, HasSubstr("code 2"));
  result = RunShell(
      "printf 'X' | dd of=run/checkpoints/step-00000014/model.safetensors bs=1 seek=7000 "
      "conv=notrunc 2>/dev/null; \"$horizon\" export run --output new; echo \"code $?\"; ls new");
  EXPECT_THAT(result.out, HasSubstr("code 4"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("model.safetensors"), HasSubstr("No such file")));
}

}  // namespace
}  // namespace horizon

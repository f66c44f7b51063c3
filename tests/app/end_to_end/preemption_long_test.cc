// Kills and signals at random moments of every phase: reading, loading, training, saving, writing
// the model. Many of them, for the long suite; resume_end_to_end_test has a few.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/text/str_cat.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

void Prepare() {
  ASSERT_EQ(RunShell("rm -rf run whole log").exit_code, 0);
  WriteFile("config.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 32, "intermediate_size": 80, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": true})");
  std::string lines;
  for (int i = 0; i < 200; ++i) {
    lines += StrCat(R"({"query": "What is )", i, " plus ", i % 7, R"(?", "response": "It is )",
                    i + i % 7, ".\"}\n");
  }
  WriteFile("qa.jsonl", lines);
  WriteFile("job.yaml",
            "machine: cpu-desktop\nthreads: 2\nmodel: config.json\ninit: random\n"
            "data: qa.jsonl\ntokenizer: byte\nsteps: 400\nsequence: 64\nmicro-batch: 2\n"
            "learning-rate: 1e-3\ndevice-memory: 128MiB\nsave-every: 3\neval-share: 0.1\n"
            "eval-every: 50\nstate: 8bit-moments\n");
  const ProcessResult whole =
      RunShell("\"$horizon\" train --config job.yaml --output whole 2>/dev/null");
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
}

// Runs until it is complete, with `signal` sent at a random moment of each start: within 0.6 s, or
// longer where the machine is so slow that 20 starts in a row reach no new checkpoint.
ProcessResult UntilComplete(const std::string& signal, const std::string& codes) {
  return RunShell(StrCat(
      "code=1; tries=0; most=600; saved=none; in_vain=0\n"
      "plans=('' '--device-memory 80MiB' '--threads 1' '--device-memory 100MiB')\n"
      "while [ $code -ne 0 ]; do\n"
      "  tries=$((tries + 1)); [ $tries -lt 2000 ] || exit 99\n"
      "  \"$horizon\" train --config job.yaml --output run --resume auto "
      "${plans[$((tries % 4))]} >>log 2>&1 &\n"
      "  pid=$!; after=$((RANDOM % most))\n"
      "  sleep $((after / 1000)).$(printf %03d $((after % 1000))); kill -",
      signal,
      " $pid 2>/dev/null\n"
      "  wait $pid 2>/dev/null; code=$?\n"
      "  case $code in ",
      codes,
      ") ;; *) tail -5 log; exit 98;; esac\n"
      "  newest=$(ls run/checkpoints 2>/dev/null | tail -n 1)\n"
      "  if [ \"$newest\" = \"$saved\" ]; then in_vain=$((in_vain + 1)); else in_vain=0; fi\n"
      "  saved=$newest\n"
      "  if [ $in_vain -ge 20 ]; then most=$((most * 2)); in_vain=0; fi\n"
      "done 2>/dev/null\n"
      "echo \"$tries tries\"\n"
      "cmp whole/model/model.safetensors run/model/model.safetensors && "
      "cmp whole/checkpoints/step-00000400/moments.safetensors "
      "run/checkpoints/step-00000400/moments.safetensors && cmp whole/eval.jsonl run/eval.jsonl && "
      "diff <(cut -d, -f1-3 whole/metrics.jsonl) <(cut -d, -f1-3 run/metrics.jsonl) && "
      "\"$horizon\" checkpoint verify run"));
}

TEST(Preemption, KillsAtRandomMomentsLoseNothing) {
  Prepare();
  const ProcessResult result = UntilComplete("KILL", "0|137");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

// A signal may come before the program has begun to listen (143): nothing was done.
TEST(Preemption, SignalsAtRandomMomentsLoseNothing) {
  Prepare();
  const ProcessResult result = UntilComplete("TERM", "0|75|143");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

}  // namespace
}  // namespace horizon

#include "tests/app/support/watched_run.h"

#include <gtest/gtest.h>

#include "common/text/str_cat.h"
#include "tests/app/support/run_program.h"

namespace horizon {

void PrepareWatchedRun() {
  ASSERT_EQ(RunShell("umount disk 2>/dev/null; rm -rf run* moved disk err answer messages demo "
                     "cache big.jsonl")
                .exit_code,
            0);
  WriteFile("config.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 32, "intermediate_size": 80, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": false})");
  std::string lines;
  for (int i = 0; i < 90; ++i) {
    lines += StrCat(R"({"query": "What is )", i, " plus ", i % 7, R"(?", "response": "It is )",
                    i + i % 7, ".\"}\n");
  }
  WriteFile("qa.jsonl", lines);
  WriteFile("job.yaml",
            "machine: cpu-desktop\nthreads: 2\nmodel: config.json\ninit: random\n"
            "data: qa.jsonl\ntokenizer: byte\nsteps: 1000000\nsequence: 64\nmicro-batch: 2\n"
            "learning-rate: 1e-3\ndevice-memory: 128MiB\nsave-every: 10\noutput: run\n");
}

std::string WatchedRunFunctions() {
  return R"sh(
start() {
  rm -f messages err; mkfifo messages; : >err
  "$horizon" train --config job.yaml "$@" 2>messages >answer &
  pid=$!; exec 3<messages
}
await() {
  while IFS= read -r line <&3; do
    printf '%s\n' "$line" >>err
    case $line in *"$1"*) return 0 ;; esac
  done
  echo "never said: $1"; cat err; exit 97
}
finish() { cat <&3 >>err; wait $pid; code=$?; exec 3<&-; }
# Every line of a file of lines is whole, and their steps are 1, 2, 3, ...
whole_lines() {
  [ -z "$(tail -c 1 "$1")" ] || { echo "$1 ends inside a line"; exit 96; }
  awk '$0 !~ "^[{]\"step\": " NR ",.*[}]$" { print FILENAME ":" NR ": " $0; exit 1 }' "$1" || exit 95
}
)sh";
}

}  // namespace horizon

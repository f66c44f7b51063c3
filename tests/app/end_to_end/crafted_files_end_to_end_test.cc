// Files made to do harm, through the program: each ends with its exit code and a message that names
// the file and the reason, and nothing is written anywhere but where the user said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "common/text/str_cat.h"
#include "runtime/checkpoint/manifest_text.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kConfig[] = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 32, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": false})";

// Every file, folder and link where commands run, with its size and the time of its last change,
// but for what this test itself writes there, the output folder and the program's cache.
constexpr char kListing[] =
    "find . -mindepth 1 \\( -path ./new -o -path ./cache \\) -prune -o ! -name command.sh "
    "! -name out.txt ! -name err.txt ! -path ./run/lock -printf '%p %y %s %T@ %l\\n' | sort";

// The command ends with this code and an error, and error and answer have all of these parts; it
// changes nothing outside the output folder, which is `new`.
void ExpectRefusal(const std::string& command, int exit_code,
                   std::initializer_list<std::string> parts) {
  SCOPED_TRACE(command);
  const std::string before = RunShell(kListing).out;
  const ProcessResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_THAT(result.err, HasSubstr("error: "));
  for (const std::string& part : parts) {
    EXPECT_THAT(result.out + result.err, HasSubstr(part));
  }
  EXPECT_EQ(RunShell(kListing).out, before);
  RunShell("rm -rf new");
}

std::string Train(const std::string& more, int steps = 2) {
  return StrCat(
      "\"$horizon\" train --machine cpu-desktop --threads 2 --device-memory 128MiB "
      "--sequence 64 --save-every 1 --steps ",
      steps, " ", more);
}

// A folder `model` with weights and a tokenizer of letters, a run `run` with two checkpoints, data
// `data.jsonl`, and a file that nobody may touch.
class CraftedFiles : public testing::Test {
 protected:
  void SetUp() override {
    RunShell("chmod -R u+w . ; rm -rf ./* ; mkdir cache");
    WriteFile("config.json", kConfig);
    std::string lines;
    for (int i = 0; i < 20; ++i) {
      lines +=
          StrCat(R"({"query": "What is )", i, R"( plus 1?", "response": "It is )", i + 1, ".\"}\n");
    }
    WriteFile("data.jsonl", lines);
    WriteFile("outside", "nobody touches this\n");
    const ProcessResult trained =
        RunShell(Train("--model config.json --init random --tokenizer byte --data data.jsonl "
                       "--output run") +
                 " && cp -r run/model model");
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
  }

  // The arguments of a run that goes on with `run`.
  const std::string resume_ = Train(
      "--model config.json --init random --tokenizer byte --data data.jsonl --output run "
      "--resume auto",
      3);
  const std::string last_ = "run/checkpoints/step-00000002";
};

TEST_F(CraftedFiles, AHeaderOfTwoToTheSixtyThreeBytesIsRefusedEverywhere) {
  RunShell(
      "printf '\\0\\0\\0\\0\\0\\0\\0\\200' | dd of=model/model.safetensors conv=notrunc bs=8 "
      "2>/dev/null");
  for (const std::string& command :
       {std::string("\"$horizon\" weights model"),
        std::string("\"$horizon\" generate --model model --tokenizer byte --prompt a"),
        std::string("\"$horizon\" eval --model model --tokenizer byte --data data.jsonl "
                    "--sequence 64"),
        Train("--model model --tokenizer byte --data data.jsonl --output new")}) {
    ExpectRefusal(command, 4, {"model/model.safetensors", "9223372036854775808 bytes"});
  }
}

TEST_F(CraftedFiles, AMergeOfUnknownTokensIsNamed) {
  WriteFile("model/tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1},
      "merges": ["a b"]}})");
  for (const std::string& command :
       {std::string("\"$horizon\" tokenize --model model data.jsonl"),
        std::string("\"$horizon\" data check data.jsonl --model model --sequence 64"),
        std::string("\"$horizon\" generate --model model --prompt a"),
        Train("--model model --data data.jsonl --output new")}) {
    ExpectRefusal(command, 2, {"model/tokenizer.json", "\"ab\""});
  }
}

// Most of it is a hole in the file. Half a GiB of addresses holds the program, its threads and what
// a line may take, and does not hold the line.
TEST_F(CraftedFiles, ALineOfAGigabyteIsRefusedInBoundedMemory) {
  RunShell(
      "printf '{\"text\": \"' > long.jsonl; truncate -s 1G long.jsonl; "
      "printf '\"}\\n{\"text\": \"after\"}\\n' >> long.jsonl");
  ExpectRefusal(
      "ulimit -v 524288; \"$horizon\" data check long.jsonl --tokenizer byte --sequence 64 "
      "--on-bad-line stop",
      2, {"long.jsonl:1: ", "the line is longer than 64 MiB"});
  RunShell("rm long.jsonl");
}

TEST_F(CraftedFiles, ALineThatIsTooLongCanBePassedOver) {
  RunShell(
      "printf '{\"text\": \"' > long.jsonl; truncate -s 65M long.jsonl; "
      "printf '\"}\\n{\"text\": \"after\"}\\n' >> long.jsonl");
  const ProcessResult checked =
      RunShell("\"$horizon\" data check long.jsonl --tokenizer byte --sequence 64 --json");
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out,
              AllOf(HasSubstr("\"bad_lines\": 1"), HasSubstr("\"records\": 1"),
                    HasSubstr("\"long.jsonl:1\""), HasSubstr("the line is longer than 64 MiB")));
}

TEST_F(CraftedFiles, AShardNameLeadsNowhereElse) {
  RunShell("mv model/model.safetensors outside.safetensors");
  for (const std::string name :
       {"../outside.safetensors", "/etc/outside.safetensors", "..", "a/../b.safetensors",
        "x\\u0000.safetensors", "..\\\\outside.safetensors"}) {
    SCOPED_TRACE(name);
    WriteFile("model/model.safetensors.index.json",
              StrCat(R"({"weight_map": {"model.norm.weight": ")", name, "\"}}"));
    ExpectRefusal("\"$horizon\" weights model", 4,
                  {"model/model.safetensors.index.json", "model.norm.weight"});
    ExpectRefusal(Train("--model model --tokenizer byte --data data.jsonl --output new"), 4,
                  {"model/model.safetensors.index.json"});
  }
}

// Folders of hub caches are made of links to files; what a link leads to is judged like any other
// file, and must be one.
TEST_F(CraftedFiles, ALinkInAModelFolderMustLeadToAFileOfWeights) {
  const std::string weights = "\"$horizon\" weights model";
  EXPECT_EQ(
      RunShell("mv model/model.safetensors blob && ln -s ../blob model/model.safetensors && " +
               weights)
          .exit_code,
      0);
  RunShell("ln -sfn ../outside model/model.safetensors");
  ExpectRefusal(weights, 4, {"model/model.safetensors", "header"});
  RunShell("mkfifo pipe");
  for (const std::string target : {"../cache", "../pipe", "/dev/zero"}) {
    SCOPED_TRACE(target);
    RunShell(StrCat("ln -sfn ", target, " model/model.safetensors"));
    ExpectRefusal(weights, 4, {"model/model.safetensors", "not a regular file"});
  }
  RunShell("ln -sfn model.safetensors model/model.safetensors");
  ExpectRefusal(weights, 6, {"model/model.safetensors", "symbolic link"});
}

TEST_F(CraftedFiles, ACheckpointHoldsNoLinks) {
  RunShell(StrCat("mv ", last_, "/model.safetensors blob; ln -s ../../../blob ", last_,
                  "/model.safetensors"));
  for (const std::string& command :
       {StrCat("\"$horizon\" checkpoint verify ", last_),
        StrCat("\"$horizon\" export ", last_, " --output new"), resume_}) {
    ExpectRefusal(command, 4, {last_, "model.safetensors", "not a regular file"});
  }
  RunShell(StrCat("mv ", last_, " elsewhere; ln -s ../../elsewhere ", last_));
  for (const std::string& command :
       {StrCat("\"$horizon\" checkpoint verify ", last_),
        StrCat("\"$horizon\" export ", last_, " --output new"), resume_}) {
    ExpectRefusal(command, 4, {last_, "symbolic link"});
  }
}

// What a run adds to, makes or reads: a link would lead it out of the folder, and one that leads
// nowhere would make a file there.
TEST_F(CraftedFiles, ARunFolderHoldsNoLinks) {
  RunShell("mv run whole; mkdir victim; echo '{\"step\": 1}' > victim/metrics");
  const auto link = [](const std::string& name, const std::string& target) {
    RunShell(StrCat("rm -rf run; cp -a whole run; rm -rf run/", name, "; ln -s ", target, " run/",
                    name));
  };
  const std::pair<const char*, const char*> links[] = {{"metrics.jsonl", "../victim/metrics"},
                                                       {"metrics.jsonl", "../victim/nothing"},
                                                       {"eval.jsonl", "../victim/nothing"},
                                                       {"base", "../victim"},
                                                       {"model", "../victim"},
                                                       {"checkpoints", "../whole/checkpoints"}};
  for (const auto& [name, target] : links) {
    link(name, target);
    ExpectRefusal(resume_, 4, {StrCat("run/", name), "holds no links"});
    ExpectRefusal("\"$horizon\" checkpoint prune run --keep 2", 4,
                  {StrCat("run/", name), "holds no links"});
  }
  link("lock", "../outside");
  ExpectRefusal(resume_, 2, {"run/lock", "symbolic link"});
  EXPECT_EQ(RunShell("cat outside").out, "nobody touches this\n");
}

// A manifest whose own checksum is right and whose first file lies outside.
TEST_F(CraftedFiles, AManifestNamesFilesOfItsFolderOnly) {
  const std::string manifest = RunShell(StrCat("cat ", last_, "/manifest.json")).out;
  for (const std::string name : {"../../../outside", "/etc/passwd", "a/b", "..", ".hidden"}) {
    SCOPED_TRACE(name);
    std::string text = manifest;
    const size_t at = text.find("[\"config.json\"");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 14, StrCat("[\"", name, "\""));
    text.resize(text.rfind("\"crc32c\": \""));
    WriteFile(StrCat(last_, "/manifest.json"), StrCat(text, ManifestLastLine(text)));
    for (const std::string& command : {StrCat("\"$horizon\" checkpoint verify ", last_), resume_}) {
      ExpectRefusal(command, 4, {StrCat(last_, "/manifest.json"), name});
    }
  }
}

TEST_F(CraftedFiles, ACheckpointOfAnotherModelIsRefused) {
  std::string wider(kConfig);
  wider.replace(wider.find("80"), 2, "96");
  WriteFile("wider.json", wider);
  const std::string other =
      Train("--model wider.json --init random --tokenizer byte --data data.jsonl --output other");
  ASSERT_EQ(RunShell(other).exit_code, 0);
  // Asked for by name, put into the run's folder, and asked for with another model.
  ExpectRefusal(Train("--model config.json --init random --tokenizer byte --data data.jsonl "
                      "--output new --resume other/checkpoints/step-00000002"),
                2, {"other/checkpoints/step-00000002", "it was another model"});
  RunShell(StrCat("rm -r ", last_, " && cp -r other/checkpoints/step-00000002 ", last_));
  ExpectRefusal(resume_, 2, {last_, "it was another model"});
  // Its weights alone in the place of ours: the manifest knows its files.
  RunShell(
      StrCat("cp run/checkpoints/step-00000001/model.safetensors ", last_, "/model.safetensors"));
  ExpectRefusal(resume_, 4, {last_, "model.safetensors"});
}

}  // namespace
}  // namespace horizon

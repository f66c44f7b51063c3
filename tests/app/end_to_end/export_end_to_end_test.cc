// Models whose tensors on disk are not ours one by one (fused, multimodal): trained, saved and
// exported as a person does it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "model/files/model_files.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Copies a golden to the folder `model`, with a tokenizer file and one of images.
void Prepare(const std::string& golden) {
  ASSERT_EQ(RunShell("rm -rf model run moved out again new && cp -rL "
                     "\"$TEST_SRCDIR/horizon/tests/goldens/" +
                     golden +
                     "\" model && chmod -R u+w model && echo '{}' > model/processor_config.json && "
                     "echo '{}' > model/generation_config.json")
                .exit_code,
            0);
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    lines +=
        StrCat(R"({"query": "What is )", i, R"( plus 1?", "response": "It is )", i + 1, ".\"}\n");
  }
  WriteFile("qa.jsonl", lines);
}

std::string Train(const std::string& more = "") {
  return StrCat(
      "\"$horizon\" train --machine cpu-desktop --threads 2 --data qa.jsonl --tokenizer byte "
      "--sequence 64 --micro-batch 2 --learning-rate 1e-3 --steps 4 --save-every 2 "
      "--device-memory 128MiB --output run ",
      more);
}

struct Tensor {
  Dtype dtype;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

std::map<std::string, Tensor> TensorsIn(const std::string& folder) {
  const std::unique_ptr<Io> io = MakePosixIo();
  std::string here = RunShell("pwd").out;
  here.pop_back();
  const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io, JoinPath(here, folder));
  EXPECT_TRUE(files.ok()) << files.status();
  std::map<std::string, Tensor> tensors;
  if (!files.ok()) return tensors;
  for (const ModelFiles::Location& location : files->tensors()) {
    const TensorEntry& entry = *location.tensor;
    Tensor& tensor = tensors[entry.name];
    tensor = {entry.dtype, entry.shape, std::vector<std::byte>(entry.bytes().value())};
    EXPECT_TRUE(files->ReadTensor(entry.name, tensor.bytes).ok());
  }
  return tensors;
}

// Every tensor of `model` is in `out`, in its shape: those of the text part trained (other bytes),
// all others as they were.
void ExpectTrained(const std::string& out) {
  const std::map<std::string, Tensor> before = TensorsIn("model");
  const std::map<std::string, Tensor> after = TensorsIn(out);
  EXPECT_EQ(after.size(), before.size());
  for (const auto& [name, tensor] : before) {
    const auto found = after.find(name);
    ASSERT_NE(found, after.end()) << name;
    EXPECT_EQ(found->second.shape, tensor.shape) << name;
    const bool is_other = name.find("vision_tower") != std::string::npos ||
                          name.find("multi_modal_projector") != std::string::npos;
    EXPECT_EQ(found->second == tensor, is_other) << name;
  }
}

TEST(ExportCommand, AModelWithFusedTensorsKeepsThem) {
  Prepare("phi3");
  const ProcessResult result =
      RunShell(Train("--model model --export-dtype fp32") +
               " && \"$horizon\" weights run/model && \"$horizon\" checkpoint verify run && "
               "\"$horizon\" export run --dtype fp32 --output out && "
               "cmp run/model/model.safetensors out/model.safetensors && "
               "\"$horizon\" generate --model out --tokenizer byte --prompt a --max-tokens 3");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  ExpectTrained("out");
}

class MultimodalExport : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Wrappers, MultimodalExport,
                         testing::Values("gemma3_wrapper", "mistral3_wrapper"),
                         [](const auto& tested) { return tested.param; });

TEST_P(MultimodalExport, IsWholeEvenWhenTheFolderItBeganWithIsGone) {
  Prepare(GetParam());
  ProcessResult result =
      RunShell(Train("--model model --export-dtype fp32") +
               " && \"$horizon\" weights run/model && \"$horizon\" checkpoint verify run && mv "
               "model away && "
               "\"$horizon\" export run --dtype fp32 --output out && mv away model && "
               "cmp run/model/model.safetensors out/model.safetensors && "
               "cmp model/config.json out/config.json && ls out && "
               "\"$horizon\" generate --model out --tokenizer byte --prompt a --max-tokens 3");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("belong to other parts"), HasSubstr("processor_config.json\n"),
                    HasSubstr("generation_config.json\n")));
  EXPECT_THAT(result.err, Not(HasSubstr("text model")));
  ExpectTrained("out");
  // What was exported is trained on.
  result = RunShell("rm -rf again; mv run/model again && rm -rf run && " +
                    Train("--model again --save none") + " && \"$horizon\" weights run/model");
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_P(MultimodalExport, OfACheckpointAwayFromItsRunIsAskedForTheFolder) {
  Prepare(GetParam());
  ProcessResult result = RunShell(
      Train("--model model") +
      " && mv run/checkpoints/step-00000004 moved && \"$horizon\" export moved --output out && "
      "\"$horizon\" weights out && cat out/config.json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--base"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("ForCausalLM"), Not(HasSubstr("vision_config")),
                                Not(HasSubstr("belong to other parts"))));
  result = RunShell(
      "\"$horizon\" export moved --base model --output again && "
      "cmp again/model.safetensors run/model/model.safetensors && "
      "cmp again/config.json run/model/config.json && ls again");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("--base")));
  EXPECT_THAT(result.out, HasSubstr("processor_config.json\n"));
  result =
      RunShell("\"$horizon\" export moved --base nowhere --output new; echo \"code $?\"; ls new");
  EXPECT_THAT(result.out, HasSubstr("code 2"));
  EXPECT_THAT(result.err, HasSubstr("nowhere/config.json"));
}

TEST_P(MultimodalExport, OfRandomWeightsIsATextModelAndSaysSo) {
  Prepare(GetParam());
  ProcessResult result =
      RunShell(Train("--model model/config.json --init random") +
               " && \"$horizon\" weights run/model && ls run/model && cat run/model/config.json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("it is exported as the text model"), HasSubstr("--base")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("ForCausalLM"), Not(HasSubstr("processor_config.json"))));
}

TEST_P(MultimodalExport, DamageInWhatTheRunHasKeptIsNamed) {
  Prepare(GetParam());
  const ProcessResult result = RunShell(
      Train("--model model") +
      " && truncate -s 3000 run/base/carried.safetensors; \"$horizon\" export run --output out; "
      "echo \"code $?\"; ls out; \"$horizon\" export run --base model --output again && "
      "cmp again/model.safetensors run/model/model.safetensors && echo whole");
  EXPECT_THAT(result.out, AllOf(HasSubstr("code 4"), HasSubstr("whole"))) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("run/base/carried.safetensors"), HasSubstr("--base"),
                                HasSubstr("No such file")));
}

}  // namespace
}  // namespace horizon

// Quantised folders and folders with fused experts as a person uses them: shown, trained, exported,
// and refused where something is wrong with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"
#include "tests/model/quantized_folder.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string CopyOf(const std::string& stored) {
  return StrCat("rm -rf model && cp -rL \"$TEST_SRCDIR/horizon/tests/goldens/stored/", stored,
                "\" model && chmod -R u+w model && ");
}

std::string Out(const std::string& command) {
  const ProcessResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, 0) << command << "\n" << result.err;
  return result.out;
}

void ExpectError(const std::string& command, int exit_code, const std::string& message) {
  const ProcessResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, exit_code) << command << "\n" << result.err;
  EXPECT_EQ(result.out, "") << command;
  EXPECT_THAT(result.err, AllOf(StartsWith("error: "), HasSubstr(message))) << command;
}

// A number of an object in the answer, by its path.
double NumberIn(const std::string& answer, const std::vector<std::string_view>& path) {
  const absl::StatusOr<Document> document = ParseJson("answer", answer);
  EXPECT_TRUE(document.ok()) << document.status();
  if (!document.ok()) return NAN;
  const Value* value = &document->root;
  for (size_t i = 0; value != nullptr && i + 1 < path.size(); ++i) value = value->Find(path[i]);
  return value == nullptr ? NAN : NumberAt(*value, path.back());
}

// Two layers; experts 3 x (64 x 64 + 32 x 64).
TEST(QuantisedFolders, WeightsShowsFormatsAndParametersOfMxfp4) {
  const std::string text = Out(CopyOf("gpt_oss_mxfp4") + "\"$horizon\" weights model");
  EXPECT_THAT(text, AllOf(HasSubstr("parameters in 41 tensors"),
                          HasSubstr("MXFP4: 4 tensors, 36,864 parameters, 19.1 KiB"),
                          HasSubstr("quantised: mxfp4")));
  const std::string json = Out("\"$horizon\" weights model --json --tensors");
  EXPECT_EQ(NumberIn(json, {"formats", "MXFP4", "parameters"}), 36864);
  EXPECT_EQ(NumberIn(json, {"formats", "MXFP4", "bytes"}), 36864 / 2 + 36864 / 32);
  EXPECT_EQ(NumberIn(json, {"dtypes", "U8", "tensors"}), 8);
  // The parameters are those of the model, whatever they take on disk.
  const std::string model = Out("\"$horizon\" model model --json");
  EXPECT_EQ(NumberIn(json, {"parameters"}), NumberIn(model, {"parameters"}));
  EXPECT_GT(NumberIn(json, {"parameters"}), 36864);
  EXPECT_THAT(model, HasSubstr(R"("quantization": "mxfp4")"));
  const std::string table = Out("\"$horizon\" weights model --tensors");
  EXPECT_THAT(table, AllOf(HasSubstr("model.layers.1.mlp.experts.gate_up_proj   "),
                           HasSubstr("MXFP4"), HasSubstr("[3, 64, 64]"), HasSubstr("12,288")));
}

TEST(QuantisedFolders, WeightsShowsFp8AndFusedExperts) {
  EXPECT_THAT(
      Out(CopyOf("qwen3_moe_fp8") + "\"$horizon\" weights model"),
      AllOf(HasSubstr("FP8 16x8: 20 tensors"), HasSubstr("quantised: fp8 in blocks of 16 x 8")));
  EXPECT_THAT(Out("\"$horizon\" model model"), HasSubstr("(on disk fp8 in blocks of 16 x 8)"));
  const std::string usual = Out(CopyOf("mixtral_usual") + "\"$horizon\" weights model --json");
  const std::string fused = Out(CopyOf("mixtral_fused") + "\"$horizon\" weights model --json");
  EXPECT_EQ(NumberIn(usual, {"parameters"}), NumberIn(fused, {"parameters"}));
  EXPECT_THAT(usual, HasSubstr(R"("expert_layout": "usual")"));
  EXPECT_THAT(fused, HasSubstr(R"("expert_layout": "fused")"));
  EXPECT_EQ(NumberIn(usual, {"tensors"}), 35);
  EXPECT_EQ(NumberIn(fused, {"tensors"}), 35 - 18 + 4);
}

TEST(QuantisedFolders, WhatIsWrongIsNamedWithFileAndKey) {
  const std::string weights = " && \"$horizon\" weights model";
  ExpectError(
      CopyOf("gpt_oss_mxfp4") + "sed -i 's/\"mxfp4\"/\"gptq\"/' model/config.json" + weights, 2,
      "model/config.json:");
  ExpectError("\"$horizon\" weights model", 2,
              "quantization_config.quant_method: \"gptq\" is not supported; mxfp4 (the experts of "
              "gpt_oss) and fp8");
  ExpectError(CopyOf("gpt_oss_mxfp4") +
                  "sed -i 's/\"num_local_experts\": 3/\"num_local_experts\": 4/' "
                  "model/config.json" +
                  weights,
              4, "The files have 3 experts");
  ExpectError(CopyOf("gpt_oss_mxfp4") +
                  "sed -i 's/\"num_experts_per_tok\": 2/\"num_experts_per_tok\": 4/' "
                  "model/config.json" +
                  weights,
              2, "num_experts_per_tok: is 4, but there are 3 experts");
  ExpectError(CopyOf("qwen3_moe_fp8") +
                  "sed -i 's/\"quantization_config\"/\"quantisation\"/' model/config.json" +
                  weights,
              4, "no quantization_config");
  ExpectError(CopyOf("qwen3_moe_fp8") +
                  "sed -i 's/\"num_experts_per_tok\"/\"n_shared_experts\": 1, "
                  "\"num_experts_per_tok\"/' model/config.json" +
                  weights,
              2, "n_shared_experts: 1 is not supported");
  ExpectError(CopyOf("qwen3_moe_fp8") +
                  "sed -i 's/\"model_type\": \"qwen3_moe\"/\"model_type\": \"deepseek_v3\"/' "
                  "model/config.json" +
                  weights,
              2, "\"deepseek_v3\" is not supported, since it has multi-head latent attention");
  ExpectError(CopyOf("mixtral_usual") +
                  "cp \"$TEST_SRCDIR/horizon/tests/goldens/stored/qwen3_moe_fused/"
                  "model.safetensors\" model/" +
                  weights,
              4, "model.layers.");
}

// A dense model in FP8, which is trained for two steps in which nothing moves.
TEST(QuantisedFolders, ADenseFp8ModelIsTrainedAndExportedPlain) {
  PrepareGolden("qwen3");
  const TestFolder content = MakeTestFolderOf(
      Out("cat model/config.json"),
      {.quantization = {.method = QuantMethod::kFp8, .block_rows = 48, .block_columns = 40},
       .scale_dtype = Dtype::kBF16});
  std::string here = Out("pwd");
  here.pop_back();
  ASSERT_EQ(RunShell("rm -rf model && mkdir model").exit_code, 0);
  WriteTestFolder(*MakePosixIo(), here + "/model", content);

  const ProcessResult run = RunShell(
      "\"$horizon\" train --machine cpu-desktop --threads 2 --device-memory 800MiB --device host "
      "--compute fp32 --gradients fp32 --export-dtype fp32 --model model --data batches.jsonl "
      "--output run --steps 2 --sequence 40 --micro-batch 2 --learning-rate 0");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(Out("cat run/base/config.json"), HasSubstr("quantization_config"));
  for (const std::string folder : {"run/model", "run/checkpoints/step-00000002"}) {
    EXPECT_THAT(Out(StrCat("cat ", folder, "/config.json")), Not(HasSubstr("quantization_config")));
  }
  EXPECT_THAT(Out("\"$horizon\" weights run/model"),
              AllOf(HasSubstr("F32: "), Not(HasSubstr("FP8")), Not(HasSubstr("quantised"))));
  // The exported values are those that were dequantised, and a checkpoint is a plain model too.
  const std::string eval =
      "\"$horizon\" eval --device host --sequence 40 --json --data batches.jsonl --compute fp32 "
      "--model ";
  const double quantised = NumberIn(Out(eval + "model"), {"loss"});
  EXPECT_TRUE(std::isfinite(quantised));
  EXPECT_EQ(NumberIn(Out(eval + "run/model"), {"loss"}), quantised);
  EXPECT_NEAR(NumberIn(Out(eval + "run/checkpoints/step-00000002"), {"loss"}), quantised,
              0.05 * quantised);
  // The same again from the checkpoint, without the folder that the run began with.
  Out("rm -rf model && \"$horizon\" export run --dtype fp32 --output out && "
      "cmp run/model/model.safetensors out/model.safetensors && "
      "cmp run/model/config.json out/config.json");
}

TEST(QuantisedFolders, FrozenMatricesComeOutDequantised) {
  PrepareGolden("qwen3");
  const TestFolder content = MakeTestFolderOf(
      Out("cat model/config.json"),
      {.quantization = {.method = QuantMethod::kFp8, .block_rows = 48, .block_columns = 40}});
  std::string here = Out("pwd");
  here.pop_back();
  ASSERT_EQ(RunShell("rm -rf model && mkdir model").exit_code, 0);
  WriteTestFolder(*MakePosixIo(), here + "/model", content);
  const ProcessResult run =
      RunShell(StrCat("\"$horizon\" train --machine cpu-desktop --threads 2 --device-memory 800MiB "
                      "--device host --train '*norm*' ",
                      kGoldenRun));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string weights = Out("\"$horizon\" weights run/model --json");
  EXPECT_TRUE(std::isnan(NumberIn(weights, {"dtypes", "F8_E4M3", "tensors"})));
  EXPECT_GT(NumberIn(weights, {"dtypes", "BF16", "tensors"}), 20);
  Out("\"$horizon\" export run --output out && "
      "cmp run/model/model.safetensors out/model.safetensors");
}

}  // namespace
}  // namespace horizon

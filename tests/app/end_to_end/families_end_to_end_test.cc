// Every family as a person uses it: trained, evaluated, generated from and exported by the
// program, on device host and on the fake CUDA.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"
#include "tests/goldens/golden_names.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

class FamilyCommands : public testing::TestWithParam<std::string> {
 protected:
  // The losses of 8 steps.
  static std::vector<double> Train(const std::string& program, const std::string& more) {
    const ProcessResult result =
        RunShell(StrCat("rm -rf run && \"$", program, "\" train --machine ",
                        program == "horizon" ? "cpu-desktop" : "rtx3090",
                        " --threads 2 --device-memory 800MiB ", kGoldenRun, more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return LossesOf("run/metrics.jsonl");
  }
  static double Eval(const std::string& program, const std::string& more) {
    const ProcessResult result = RunShell(
        StrCat("\"$", program, "\" eval --sequence 40 --json --data batches.jsonl ", more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const absl::StatusOr<Document> answer = ParseJson("answer", result.out);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? NumberAt(answer->root, "loss") : NAN;
  }
  static std::string Generate(const std::string& program, const std::string& more) {
    const ProcessResult result =
        RunShell(StrCat("\"$", program, "\" generate --tokenizer byte --prompt 'Once upon' ",
                        "--temperature 0 --json --max-tokens 6 ", more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out.substr(0, result.out.find("\"finish\""));  // behind it are times
  }
};

TEST_P(FamilyCommands, TrainEvaluateGenerateAndExportOnTheHost) {
  PrepareGolden(GetParam());
  const std::vector<double> losses =
      Train("horizon", "--device host --compute fp32 --gradients fp32 --export-dtype fp32");
  const std::vector<double> wanted = GoldenLosses("model/expected.json");
  ASSERT_EQ(losses.size(), wanted.size());
  // The bounds of golden_training_test.
  EXPECT_NEAR(losses[0], wanted[0], 1e-6 * wanted[0]);
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], wanted[i], 5e-5 * wanted[i]) << "step " << i + 1;
  }
  const ProcessResult weights = RunShell(
      "\"$horizon\" weights run/model && \"$horizon\" checkpoint verify run && "
      "\"$horizon\" export run --dtype fp32 --output again; rm -rf out; mv again out && "
      "cmp run/model/model.safetensors out/model.safetensors");
  EXPECT_EQ(weights.exit_code, 0) << weights.err;
  // What was exported is read again, and is not the model it began with.
  const double before = Eval("horizon", "--model model --device host");
  const double after = Eval("horizon", "--model run/model --device host");
  EXPECT_TRUE(std::isfinite(after));
  EXPECT_NE(after, before);
  EXPECT_THAT(Generate("horizon", "--model run/model --device host"), HasSubstr("\"ids\""));
}

class FamilyCommandsOnCuda : public FamilyCommands {};

TEST_P(FamilyCommandsOnCuda, TrainEvaluateGenerateAndExport) {
  PrepareGolden(GetParam());
  const std::vector<double> losses = Train("horizon_on_fake_cuda", "--device cuda");
  const std::vector<double> wanted = GoldenLosses("model/expected.json");
  ASSERT_EQ(losses.size(), wanted.size());
  EXPECT_NEAR(losses[0], wanted[0], 1e-3 * wanted[0]);
  for (size_t i = 0; i < losses.size(); ++i) {
    // Later steps differ by what earlier ones did.
    EXPECT_NEAR(losses[i], wanted[i], 2e-2 * wanted[i]) << "step " << i + 1;
  }
  const double on_host = Eval("horizon", "--model run/model --device host");
  const double on_cuda = Eval("horizon_on_fake_cuda", "--model run/model --device cuda");
  EXPECT_NEAR(on_cuda, on_host, 2e-3 * on_host);
  EXPECT_THAT(Generate("horizon_on_fake_cuda", "--model run/model --device cuda"),
              HasSubstr("\"ids\""));
}

// phi3_short differs from phi3_longrope in its rotary factors alone. Of the families with experts
// device cuda takes those whose tensors begin at multiples of 16 bytes.
enum class Experts { kAll, kOnCuda };
std::vector<std::string> Goldens(Experts experts) {
  std::vector<std::string> names = PlainGoldens();
  if (experts == Experts::kOnCuda) {
    names.emplace_back("qwen3_moe");
  } else {
    for (const std::string& name : ExpertGoldens()) names.push_back(name);
  }
  for (const std::string& name : WrapperGoldens()) names.push_back(name);
  std::erase(names, "phi3_short");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyCommands, testing::ValuesIn(Goldens(Experts::kAll)),
                         [](const auto& family) { return family.param; });
INSTANTIATE_TEST_SUITE_P(Families, FamilyCommandsOnCuda,
                         testing::ValuesIn(Goldens(Experts::kOnCuda)),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace horizon

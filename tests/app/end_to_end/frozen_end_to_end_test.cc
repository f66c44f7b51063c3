// Training a part of a model as a person does it: --train and --freeze on the command line, what
// is kept, resumed, refused and exported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "model/files/dtype.h"
#include "model/files/model_files.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTrain[] =
    "\"$horizon\" train --machine cpu-desktop --threads 2 --device-memory 800MiB --device host "
    "--compute fp32 --gradients fp32 ";
// Norms, biases and the tied table stay as they are.
constexpr char kFrozen[] = "--freeze '*embed_tokens*' --freeze '*norm*' --freeze '*.bias' ";

ProcessResult Train(const std::string& more) { return RunShell(StrCat(kTrain, kGoldenRun, more)); }

// The tensors of a model folder below the test's own: type and bytes by name.
struct Stored {
  Dtype dtype = Dtype::kF32;
  std::vector<std::byte> bytes;
  friend bool operator==(const Stored&, const Stored&) = default;
};
std::map<std::string, Stored> TensorsOf(const std::string& folder) {
  std::string base = RunShell("pwd").out;
  base.pop_back();
  const std::unique_ptr<Io> io = MakePosixIo();
  std::map<std::string, Stored> tensors;
  const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io, StrCat(base, "/", folder));
  EXPECT_TRUE(files.ok()) << files.status();
  if (!files.ok()) return tensors;
  for (const ModelFiles::Location& location : files->tensors()) {
    Stored& stored = tensors[location.tensor->name];
    stored.dtype = location.tensor->dtype;
    stored.bytes.resize(location.tensor->end - location.tensor->begin);
    EXPECT_TRUE(files->ReadTensor(location.tensor->name, stored.bytes).ok());
  }
  return tensors;
}

bool IsFrozen(const std::string& name) {
  return name.find("embed_tokens") != name.npos || name.find("norm") != name.npos ||
         name.ends_with(".bias");
}

TEST(FrozenCommands, FrozenTensorsAreExportedByteForByteAndTheOthersAreTrained) {
  PrepareGolden("qwen2");
  const ProcessResult run = Train(StrCat(kFrozen, "--export-dtype bf16"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::map<std::string, Stored> before = TensorsOf("model");
  const std::map<std::string, Stored> after = TensorsOf("run/model");
  ASSERT_EQ(before.size(), after.size());
  int frozen = 0;
  for (const auto& [name, stored] : before) {
    const Stored& exported = after.at(name);
    if (IsFrozen(name)) {
      ++frozen;
      EXPECT_EQ(exported, stored) << name;  // F32, as the source has it
    } else {
      EXPECT_EQ(exported.dtype, Dtype::kBF16) << name;
    }
  }
  EXPECT_GT(frozen, 5);
  // The checkpoint holds what was trained, and says so when it is taken for a model.
  const std::map<std::string, Stored> saved = TensorsOf("run/checkpoints/step-00000008");
  EXPECT_EQ(saved.size(), before.size() - static_cast<size_t>(frozen));
  const ProcessResult eval = RunShell(
      "\"$horizon\" eval --sequence 40 --data batches.jsonl --device host --model "
      "run/checkpoints/step-00000008");
  EXPECT_NE(eval.exit_code, 0);
  EXPECT_THAT(eval.err, HasSubstr("`horizon export` writes the whole model"));
  // An export of the run is what the run wrote itself.
  const ProcessResult exported = RunShell(
      "\"$horizon\" export run --dtype bf16 --output out && cmp run/model/model.safetensors "
      "out/model.safetensors && \"$horizon\" weights out && \"$horizon\" eval --sequence 40 "
      "--data batches.jsonl --device host --model out");
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
}

TEST(FrozenCommands, AResumedRunGoesOnWithTheSameBitsUnderOtherPatternsForTheSameTensors) {
  PrepareGolden("qwen3");
  const std::string part = "--train 'model.layers.1.*' --freeze '*q_norm*' ";
  ASSERT_EQ(Train(StrCat(part, "--export-dtype fp32")).exit_code, 0);
  const std::vector<double> whole = LossesOf("run/metrics.jsonl");
  const std::map<std::string, Stored> trained = TensorsOf("run/model");
  ASSERT_EQ(RunShell("rm -rf run").exit_code, 0);
  const ProcessResult first =
      RunShell(StrCat(kTrain,
                      "--model model --data batches.jsonl --shuffle false --output run --steps 3 "
                      "--sequence 40 --micro-batch 2 --learning-rate 0.01 --beta2 0.95 "
                      "--weight-decay 0.1 --decay-all ",
                      part));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const ProcessResult other = Train(StrCat(part, "--train '*.norm.weight' --resume auto"));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, AllOf(HasSubstr("trained tensors: saved"),
                               HasSubstr("model.norm.weight was frozen")));
  const ProcessResult second = Train(
      "--train 'model.layers.1.*' --freeze '*layers.?.self_attn.q_norm.*' "
      "--export-dtype fp32 --resume auto");
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(LossesOf("run/metrics.jsonl"), whole);
  EXPECT_EQ(TensorsOf("run/model"), trained);
}

TEST(FrozenCommands, AnotherBaseIsRefusedByTheTensorThatDiffers) {
  PrepareGolden("llama");
  const std::string part = "--train '*mlp*' ";
  ASSERT_EQ(Train(StrCat(part, "--save-every 4")).exit_code, 0);
  ASSERT_EQ(
      RunShell("rm -rf run/model run/checkpoints/step-00000008 && cp -r model base").exit_code, 0);
  // The last tensor of the file is the final norm, which is frozen; a bit of its last value
  // changes.
  const ProcessResult changed = RunShell(
      "printf '\\001' | dd of=model/model.safetensors bs=1 conv=notrunc status=none "
      "seek=$(($(stat -c %s model/model.safetensors) - 2))");
  ASSERT_EQ(changed.exit_code, 0) << changed.err;
  const ProcessResult resumed = Train(StrCat(part, "--resume auto"));
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_THAT(resumed.err, AllOf(HasSubstr("frozen tensors are not those"), HasSubstr("CRC-32C"),
                                 HasSubstr("model.")));
  const ProcessResult exported = RunShell("\"$horizon\" export run --output out");
  EXPECT_EQ(exported.exit_code, 2);
  EXPECT_THAT(exported.err, HasSubstr("frozen tensors are not those"));
  EXPECT_NE(RunShell("test -e out").exit_code, 0);
  // The model as it was is taken from elsewhere.
  const ProcessResult from_base = RunShell("\"$horizon\" export run --base base --output out");
  EXPECT_EQ(from_base.exit_code, 0) << from_base.err;
}

TEST(FrozenCommands, RandomWeightsCanBeFrozenToo) {
  PrepareGolden("llama");
  const ProcessResult run = Train("--init random --train 'model.layers.1.*' --export-dtype fp32");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const ProcessResult exported = RunShell(
      "\"$horizon\" export run --dtype fp32 --output out && cmp run/model/model.safetensors "
      "out/model.safetensors");
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
}

TEST(FrozenCommands, MistakesAreNamedBeforeAnythingIsWritten) {
  PrepareGolden("llama");
  const ProcessResult unknown = Train("--freeze model.embed_tokens.wieght");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"model.embed_tokens.weight\"?"));
  const ProcessResult nothing = Train("--freeze '*'");
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("nothing would be trained"));
  EXPECT_NE(RunShell("test -e run").exit_code, 0);
}

TEST(FrozenCommands, APlanTakesWhatIsFrozenIntoAccount) {
  const auto host_bytes = [](const std::string& more) {
    const ProcessResult plan =
        RunShell(StrCat("\"$horizon\" plan --model qwen2.5-7b --machine gh200 --batch 1 "
                        "--strategy horizon --json ",
                        more));
    EXPECT_EQ(plan.exit_code, 0) << plan.err;
    const absl::StatusOr<Document> answer = ParseJson("answer", plan.out);
    EXPECT_TRUE(answer.ok()) << answer.status();
    const Value* prediction = answer.ok() ? answer->root.Find("prediction") : nullptr;
    return prediction == nullptr ? 0.0 : NumberAt(*prediction, "host_bytes");
  };
  const double all = host_bytes("");
  const double last = host_bytes("--train 'model.layers.2[4-7].*'");
  // 7.6e9 parameters of 14 bytes, against 2 bytes each and 12 more for 0.93e9.
  EXPECT_GT(all, 0.9 * 7.6e9 * 14);
  EXPECT_GT(last, 7.6e9 * 2 + 0.9e9 * 12);
  EXPECT_LT(last, 0.35 * all);
  const ProcessResult schedule =
      RunShell("\"$horizon\" schedule --model qwen2.5-7b --train 'model.layers.2[4-7].*'");
  EXPECT_THAT(schedule.out, HasSubstr("of them trained)"));
}

TEST(FrozenCommands, TrainsAPartOnCuda) {
  PrepareGolden("qwen2");
  const auto losses = [](const std::string& program, const std::string& device) {
    const ProcessResult run = RunShell(StrCat(
        "rm -rf run && \"$", program, "\" train --threads 2 --device-memory 800MiB --device ",
        device, " ", kGoldenRun, kFrozen));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return LossesOf("run/metrics.jsonl");
  };
  const std::vector<double> on_cuda = losses("horizon_on_fake_cuda", "cuda --machine rtx3090");
  const std::vector<double> on_host = losses("horizon", "host --machine cpu-desktop");
  ASSERT_EQ(on_cuda.size(), on_host.size());
  for (size_t i = 0; i < on_cuda.size(); ++i) {
    EXPECT_NEAR(on_cuda[i], on_host[i], (i == 0 ? 1e-3 : 2e-2) * on_host[i]) << "step " << i + 1;
  }
}

}  // namespace
}  // namespace horizon

// Training, evaluation and generation on a CUDA device as a person runs them: the program, linked
// with the fake CUDA.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// With a profile from the catalog nothing is measured.
std::string Train(const std::string& more, const std::string& world = "",
                  const std::string& machine = "rtx3090") {
  return StrCat("HORIZON_FAKE_CUDA='", world, "' \"$horizon_on_fake_cuda\" train --machine ",
                machine, " ", "--device-memory 800MiB --threads 2 ", kGoldenRun, more);
}

TEST(CudaCommand, AutoTrainsOnTheDeviceAndMeetsPyTorchsLosses) {
  PrepareGolden("llama");
  const ProcessResult result = RunShell(Train("--device auto"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("device cuda:0: Fake GPU, 1 GiB of 1 GiB free"),
                                HasSubstr("of the device's\n")));
  const std::vector<double> losses = LossesOf("run/metrics.jsonl");
  const std::vector<double> wanted = GoldenLosses("model/expected.json");
  ASSERT_EQ(losses.size(), wanted.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    // The bound of bf16 compute on device host; later steps differ by what earlier ones did.
    EXPECT_NEAR(losses[i], wanted[i], 2e-2 * wanted[i]) << "step " << i + 1;
  }
  EXPECT_NEAR(losses[0], wanted[0], 1e-3 * wanted[0]);
  // The device is part of the run.
  EXPECT_THAT(RunShell("cat run/train.yaml").out, HasSubstr("device: \"cuda:0\"\n"));
  EXPECT_THAT(RunShell("cat run/job.json").out, HasSubstr("\"device\": \"cuda\""));
}

TEST(CudaCommand, AModelIsEvaluatedAndContinuedOnTheDevice) {
  PrepareGolden("qwen3");
  const auto eval = [](const std::string& program, const std::string& more) {
    const ProcessResult result =
        RunShell(StrCat("\"$", program, "\" eval --model model --sequence 40 --json ", more,
                        " --data batches.jsonl"));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr(more.find("--device-memory") == std::string::npos
                                          ? "all weights stay on the device"
                                          : "weights stream through"));
    const absl::StatusOr<Document> answer = ParseJson("answer", result.out);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer->root.Find("loss")->As<double>() : NAN;
  };
  const double on_host = eval("horizon", "--device host");
  const double resident = eval("horizon_on_fake_cuda", "--device cuda");
  EXPECT_NEAR(resident, on_host, 1e-3 * on_host);
  // What does not fit streams, with the same bits.
  const double streamed = eval("horizon_on_fake_cuda", "--device cuda:0 --device-memory 34500000B");
  EXPECT_EQ(streamed, resident);
  const auto generate = [](const std::string& more) {
    const ProcessResult result = RunShell(
        StrCat("\"$horizon_on_fake_cuda\" generate --model model --device cuda "
               "--tokenizer byte --prompt 'Once upon' --temperature 0 --json --max-tokens 6 ",
               more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out.substr(0, result.out.find("\"finish\""));  // behind it are times
  };
  const std::string text = generate("");
  EXPECT_THAT(text, HasSubstr("\"ids\""));
  EXPECT_EQ(generate("--device-memory 67600000B"), text);
}

TEST(CudaCommand, ACudaDeviceThatCannotBeUsedIsNamedAndNeverReplaced) {
  PrepareGolden("llama");
  const struct {
    std::string world;
    std::string message;
  } kinds[] = {
      {"driver=none", "no NVIDIA driver is installed"},
      {"driver=old", "the NVIDIA driver is too old: it serves CUDA 11.4, the program needs"},
      {"devices=none", "the NVIDIA driver finds no device"},
      {"image=none", "compute capability 8.0) what was built for"}};
  for (const auto& kind : kinds) {
    const ProcessResult refused = RunShell(Train("--device cuda", kind.world));
    EXPECT_EQ(refused.exit_code, 5) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(kind.message));
    EXPECT_NE(RunShell("test -e run").exit_code, 0);
    // auto takes the host and says why.
    const ProcessResult fell = RunShell(StrCat("HORIZON_FAKE_CUDA='", kind.world,
                                               "' \"$horizon_on_fake_cuda\" eval --model model ",
                                               "--sequence 40 --data batches.jsonl"));
    EXPECT_EQ(fell.exit_code, 0) << fell.err;
    EXPECT_THAT(fell.err, AllOf(HasSubstr("device host: "), HasSubstr(kind.message)));
  }
  const ProcessResult missing = RunShell(Train("--device cuda:3"));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("--device cuda:3: there is 1 CUDA device, counted from 0"));
  const ProcessResult unknown = RunShell(Train("--device gpu"));
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--device gpu: use auto, host, cuda or cuda:N"));
}

TEST(CudaCommand, WhatDoesNotGoTogetherIsRefusedBeforeAnythingIsMade) {
  PrepareGolden("llama");
  const struct {
    std::string flags;
    int exit_code;
    std::string message;
    std::string machine = "rtx3090";
  } kinds[] = {{"--device cuda --link 1GB/s", 2, "--link holds copies of device host"},
               {"--device cuda --compute fp32", 2, "fp32 compute needs device host"},
               {"--device cuda", 2, "--machine cpu-desktop has no GPU", "cpu-desktop"},
               {"--device host", 2, "--machine rtx3090 has a GPU"}};
  for (const auto& kind : kinds) {
    const ProcessResult refused = RunShell(Train(kind.flags, "", kind.machine));
    EXPECT_EQ(refused.exit_code, kind.exit_code) << kind.flags << ": " << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(kind.message)) << kind.flags;
    EXPECT_NE(RunShell("test -e run").exit_code, 0) << kind.flags;
  }
}

TEST(CudaCommand, TooLittleFreeMemoryTellsBytesAndWhatToLower) {
  PrepareGolden("llama");
  // The profile promises more than the device has free.
  const ProcessResult refused = RunShell(Train("--device cuda", "others=1053741824"));
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("free"), HasSubstr("lower the device memory")));
  EXPECT_NE(RunShell("test -e run").exit_code, 0);
}

TEST(CudaCommand, MemoryThatCannotBeLockedIsServedAndSaid) {
  PrepareGolden("llama");
  ASSERT_EQ(RunShell(Train("--device cuda")).exit_code, 0);
  const std::vector<double> locked = LossesOf("run/metrics.jsonl");
  PrepareGolden("llama");
  const ProcessResult slabs = RunShell(Train("--device cuda", "locking=refused seed=7"));
  ASSERT_EQ(slabs.exit_code, 0) << slabs.err;
  EXPECT_THAT(slabs.err, HasSubstr("page-lock"));
  EXPECT_EQ(LossesOf("run/metrics.jsonl"), locked);
}

// An ECC error in the middle: one message that names the operation, no model half written, and the
// run goes on from its checkpoint to the same numbers.
TEST(CudaCommand, ADeviceThatIsLostLosesNothingThatWasSaved) {
  PrepareGolden("llama");
  const std::string saves = "--device cuda --save-every 2 ";
  ASSERT_EQ(RunShell(Train(saves)).exit_code, 0);
  const std::vector<double> whole = LossesOf("run/metrics.jsonl");
  const std::string digest = RunShell("cat run/model/*.safetensors | md5sum").out;
  PrepareGolden("llama");
  const ProcessResult lost = RunShell(Train(saves, "fail-work=1500"));
  ASSERT_EQ(lost.exit_code, 5) << lost.err;
  EXPECT_THAT(lost.err, AllOf(HasSubstr("step "), HasSubstr("ECC"), Not(HasSubstr("Aborted"))));
  EXPECT_NE(RunShell("test -e run/model").exit_code, 0);
  const ProcessResult resumed = RunShell(Train(saves + "--resume auto"));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("going on after step "));
  EXPECT_EQ(LossesOf("run/metrics.jsonl"), whole);
  EXPECT_EQ(RunShell("cat run/model/*.safetensors | md5sum").out, digest);
  // The numbers of another device are another run.
  const ProcessResult other =
      RunShell(StrCat("\"$horizon\" train --machine cpu-desktop --device host --threads 2 ",
                      kGoldenRun, "--resume auto"));
  EXPECT_EQ(other.exit_code, 2) << other.err;
  EXPECT_THAT(other.err, HasSubstr("device"));
}

}  // namespace
}  // namespace horizon

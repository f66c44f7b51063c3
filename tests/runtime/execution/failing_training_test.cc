// What can go wrong in a run, and what a person is told of it.
#include <atomic>
#include <cmath>
#include <limits>
#include <string>

#include "common/clock.h"
#include "common/failure_source.h"
#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/device/host_device.h"
#include "runtime/execution/trainer.h"
#include "schedule/lay_out_memory.h"
#include "tests/runtime/support/small_training.h"

namespace horizon {
namespace {

struct Made {
  ModelSpec spec = TinyLlama();
  TrainingJob job = TinyJob();
  StreamPlan plan;
  NonFinitePolicy policy = NonFinitePolicy::kStop;
  KernelTable kernels = HostKernels();
  Nanoseconds stall_limit = std::chrono::minutes(10);
  RealClock clock;
  std::unique_ptr<HostDevice> device;
  std::unique_ptr<Trainer> trainer;

  absl::Status Make() {
    const absl::StatusOr<MemoryLayout> layout = LayOutMemory(spec, job, plan);
    if (!layout.ok()) return layout.status();
    trainer.reset();
    device = *HostDevice::Create(
        {.capacity = layout->totals[static_cast<size_t>(Memory::kDevice)], .clock = &clock});
    absl::StatusOr<std::unique_ptr<Trainer>> made = Trainer::Create(
        spec, job, plan,
        {.device = *device, .kernels = kernels, .clock = clock, .stall_limit = stall_limit},
        policy);
    if (!made.ok()) return made.status();
    trainer = *std::move(made);
    return trainer->store().Fill(RandomSource(spec, 3));
  }

  StepInput Input(int64_t number) const {
    StepInput input{.learning_rate = 1e-3};
    for (int64_t mb = 0; mb < job.accumulation; ++mb) {
      const std::vector<TokenRecord> tokens = RandomTokens(spec, job, number + mb);
      input.tokens.insert(input.tokens.end(), tokens.begin(), tokens.end());
    }
    input.counted = static_cast<int64_t>(input.tokens.size());
    return input;
  }

  absl::Status Train(int64_t steps, std::vector<StepResult>* results = nullptr) {
    return trainer->Train(
        1, steps, [&](int64_t number) { return Input(number); },
        [&](const Trainer::Report& report) {
          if (results != nullptr) results->push_back(report.result);
          return Trainer::Next::kContinue;
        });
  }
};

// Puts a value into the gradient of the second layer's up projection, in step `step`.
thread_local int backward_calls = 0;
template <int kNumber>
absl::Status PoisonedGlu(const KernelContext& context, const GluBackward& args) {
  absl::Status status = GluBackwardHost(context, args);
  // Three layers a step, the last first: call 2 of each step is the second layer's.
  if (++backward_calls == kNumber) args.up_gradient[0] = std::numeric_limits<float>::quiet_NaN();
  return status;
}

TEST(FailingTraining, ANanGradientStopsTheRunBeforeAnyWeightChanges) {
  for (const OptimizerPlace place : {OptimizerPlace::kBehindForward, OptimizerPlace::kAfterStep}) {
    Made made;
    made.job.optimizer_place = place;
    made.kernels.glu_backward = PoisonedGlu<3 + 2>;  // in step 2
    ASSERT_TRUE(made.Make().ok());
    Made clean;
    clean.job.optimizer_place = place;
    ASSERT_TRUE(clean.Make().ok());
    ASSERT_TRUE(clean.Train(1).ok());

    absl::Status status = made.Train(5);
    EXPECT_EQ(FailureSourceOf(status), FailureSource::kNumerics) << status;
    const std::string message(status.message());
    EXPECT_NE(message.find("step 2"), std::string::npos) << message;
    EXPECT_NE(message.find("model.layers.1."), std::string::npos) << message;
    // Only step 1 has changed anything.
    EXPECT_EQ(*made.trainer->store().Digest(), *clean.trainer->store().Digest());
  }
}

// The next step is under way when a step is found not to be finite: it must not update either.
TEST(FailingTraining, AStepBehindOneThatEndsTheRunUpdatesNothing) {
  for (const bool ends : {true, false}) {
    Made made;
    made.job.optimizer_place = OptimizerPlace::kAfterStep;
    made.kernels.glu_backward = PoisonedGlu<2>;  // in step 1
    ASSERT_TRUE(made.Make().ok());
    const uint64_t before = *made.trainer->store().Digest();
    const absl::StatusOr<std::unique_ptr<Executor>> executor = made.trainer->pass().Start();
    ASSERT_TRUE(executor.ok()) << executor.status();
    for (const int64_t number : {1, 2}) {
      StepInput input = made.Input(number);
      input.number = number;
      input.ends_at_non_finite = ends;
      ASSERT_TRUE((*executor)
                      ->Begin(number == 1 ? StepKind::kFirst : StepKind::kSteady, std::move(input))
                      .ok());
    }
    const absl::StatusOr<StepResult> first = (*executor)->End();
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_FALSE(first->non_finite.empty());
    const absl::StatusOr<StepResult> second = (*executor)->End();
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_TRUE(second->non_finite.empty());
    EXPECT_EQ(second->ended, ends);
    EXPECT_EQ(second->applied, !ends);
    EXPECT_EQ(*made.trainer->store().Digest() == before, ends);
  }
}

TEST(FailingTraining, ANanGradientSkipsTheStepWhereThatIsWanted) {
  Made made;
  made.policy = NonFinitePolicy::kSkip;
  made.kernels.glu_backward = PoisonedGlu<3 + 2>;
  ASSERT_TRUE(made.Make().ok());
  std::vector<StepResult> results;
  ASSERT_TRUE(made.Train(3, &results).ok());
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0].applied);
  EXPECT_FALSE(results[1].applied);
  EXPECT_FALSE(results[1].non_finite.empty());
  EXPECT_TRUE(results[2].applied);
  EXPECT_TRUE(std::isfinite(results[2].loss));
}

absl::Status InfiniteLoss(const KernelContext& context, const HeadLoss& args) {
  absl::Status status = HeadLossHost(context, args);
  args.loss->sum = std::numeric_limits<double>::infinity();
  return status;
}

TEST(FailingTraining, AnInfiniteLossStopsTheRun) {
  Made made;
  made.kernels.head_loss = InfiniteLoss;
  ASSERT_TRUE(made.Make().ok());
  const uint64_t before = *made.trainer->store().Digest();
  const absl::Status status = made.Train(2);
  EXPECT_EQ(FailureSourceOf(status), FailureSource::kNumerics) << status;
  EXPECT_NE(std::string(status.message()).find("loss of micro-batch 0"), std::string::npos)
      << status;
  EXPECT_EQ(*made.trainer->store().Digest(), before);
}

TEST(FailingTraining, AStepWithoutALabelledTokenChangesNothing) {
  Made made;
  ASSERT_TRUE(made.Make().ok());
  const uint64_t before = *made.trainer->store().Digest();
  std::vector<StepResult> results;
  const absl::Status status = made.trainer->Train(
      1, 2,
      [&](int64_t number) {
        StepInput input = made.Input(number);
        for (TokenRecord& token : input.tokens) token.label = -100;
        input.counted = 0;
        return input;
      },
      [&](const Trainer::Report& report) {
        results.push_back(report.result);
        return Trainer::Next::kContinue;
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_FALSE(results[0].applied);
  EXPECT_EQ(results[0].loss, 0);
  EXPECT_EQ(*made.trainer->store().Digest(), before);
}

absl::Status Refuses(const KernelContext&, const RmsNormBackward&) {
  return absl::InternalError("the kernel broke");
}

TEST(FailingTraining, AFailingKernelIsReportedOnceWithItsOperation) {
  Made made;
  made.kernels.rms_norm_backward = Refuses;
  ASSERT_TRUE(made.Make().ok());
  const absl::Status status = made.Train(5);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  const std::string message(status.message());
  EXPECT_EQ(message.rfind("step 1, backward ", 0), 0u) << message;
  EXPECT_NE(message.find("the kernel broke"), std::string::npos);
}

// A kernel that hangs until the watchdog has seen it.
std::atomic<bool> hanging = true;
absl::Status Hangs(const KernelContext&, const GluBackward&) {
  hanging.wait(true);
  return absl::OkStatus();
}
// Every look at it takes an hour.
class ImpatientClock final : public Clock {
 public:
  Nanoseconds Now() override { return Nanoseconds(std::chrono::hours(++looks_)); }
  bool WaitUntil(Nanoseconds, std::stop_token) override { return true; }

 private:
  std::atomic<int64_t> looks_ = 0;
};

TEST(FailingTraining, ALaneThatHangsIsReportedWithWhatEachLaneDoes) {
  Made made;
  ImpatientClock clock;
  made.kernels.glu_backward = Hangs;
  const MemoryLayout layout = *LayOutMemory(made.spec, made.job, made.plan);
  made.device = *HostDevice::Create(
      {.capacity = layout.totals[static_cast<size_t>(Memory::kDevice)], .clock = &made.clock});
  made.trainer = *Trainer::Create(made.spec, made.job, made.plan,
                                  {.device = *made.device,
                                   .kernels = made.kernels,
                                   .clock = clock,
                                   .on_stall = [](const absl::Status&) {
                                     hanging = false;
                                     hanging.notify_all();
                                   }});
  ASSERT_TRUE(made.trainer->store().Fill(RandomSource(made.spec, 3)).ok());
  const absl::Status status = made.Train(1);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_NE(std::string(status.message()).find("compute: "), std::string::npos) << status;
}

TEST(FailingTraining, ATokenOutsideTheVocabularyIsNamed) {
  Made made;
  ASSERT_TRUE(made.Make().ok());
  for (const int32_t bad : {-1, 40}) {
    const absl::Status status = made.trainer->Train(
        1, 1,
        [&](int64_t number) {
          StepInput input = made.Input(number);
          input.tokens[7].id = bad;
          return input;
        },
        [](const Trainer::Report&) { return Trainer::Next::kContinue; });
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.message()).find(StrCat("token 7 of micro-batch 0 has id ", bad)),
              std::string::npos)
        << status;
    ASSERT_TRUE(made.Make().ok());
  }
}

TEST(FailingTraining, DataThatFailsEndsTheRunWithItsError) {
  Made made;
  ASSERT_TRUE(made.Make().ok());
  int64_t heard = 0;
  const absl::Status status = made.trainer->Train(
      1, 9,
      [&](int64_t number) -> absl::StatusOr<StepInput> {
        if (number == 3) return absl::DataLossError("the file has changed");
        return made.Input(number);
      },
      [&](const Trainer::Report&) {
        ++heard;
        return Trainer::Next::kContinue;
      });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_GE(heard, 1);
}

TEST(FailingTraining, AStopIsHeardAndLeavesAWholeStep) {
  Made made;
  ASSERT_TRUE(made.Make().ok());
  std::vector<int64_t> heard;
  ASSERT_TRUE(made.trainer
                  ->Train(
                      1, 100, [&](int64_t number) { return made.Input(number); },
                      [&](const Trainer::Report& report) {
                        heard.push_back(report.result.number);
                        return report.result.number == 3 ? Trainer::Next::kStop
                                                         : Trainer::Next::kContinue;
                      })
                  .ok());
  ASSERT_GE(heard.size(), 3u);
  ASSERT_LE(heard.size(), 4u);  // one step was under way
  Made same;
  ASSERT_TRUE(same.Make().ok());
  ASSERT_TRUE(same.Train(static_cast<int64_t>(heard.size())).ok());
  EXPECT_EQ(*made.trainer->store().Digest(), *same.trainer->store().Digest());
}

TEST(FailingTraining, WhatCannotRunIsRefusedWithWhatToChange) {
  const auto refused = [](Made& made, const std::string& words) {
    const absl::Status status = made.Make();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
  };
  Made simulated;
  simulated.plan.strategy = Strategy::kZero3Offload;
  simulated.plan.embedding_home = EmbeddingHome::kDevice;
  simulated.job.optimizer_place = OptimizerPlace::kAfterStep;
  refused(simulated, "run horizon, reference or resident");
  Made uncut;
  uncut.spec.intermediate = 400;
  uncut.plan.chunk_bytes = 4_KiB;  // a matrix has 400 x 12 parameters
  refused(uncut, "set chunk_bytes to at least");
  Made clipped;
  clipped.plan.strategy = Strategy::kReference;
  clipped.plan.embedding_home = EmbeddingHome::kDevice;
  clipped.job.optimizer_place = OptimizerPlace::kAfterStep;
  refused(clipped, "set gradient_type fp32");
}

TEST(FailingTraining, AnArenaOneByteTooSmallIsRefusedWithTheBytes) {
  Made made;
  const MemoryLayout layout = *LayOutMemory(made.spec, made.job, made.plan);
  const Bytes bytes = layout.totals[static_cast<size_t>(Memory::kDevice)];
  made.device = *HostDevice::Create({.capacity = bytes - 1_B, .clock = &made.clock});
  const absl::Status status =
      Trainer::Create(made.spec, made.job, made.plan,
                      {.device = *made.device, .kernels = HostKernels(), .clock = made.clock})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(std::string(status.message()).find(StrCat(bytes.value())), std::string::npos) << status;
}

}  // namespace
}  // namespace horizon

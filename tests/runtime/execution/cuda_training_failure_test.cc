// A whole training run on the fake CUDA in which one call, or one piece of work, fails: from the
// device's creation over a step and what it leaves behind to the end of everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/failure_source.h"
#include "kernels/kernel_table.h"
#include "runtime/device/cuda_device.h"
#include "tests/fake_cuda/fake_cuda_control.h"
#include "tests/runtime/support/small_training.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModelSpec SmallModel() {
  ModelSpec spec = TinyLlama();
  spec.hidden = 16;
  spec.intermediate = 24;
  spec.head_dim = 8;
  spec.layers.resize(2);
  return spec;
}

TrainingJob SmallJob() {
  TrainingJob job = TinyJob();
  job.device = DeviceKind::kCuda;
  job.compute_type = NumberType::kBf16;
  job.activation_type = NumberType::kBf16;
  job.gradient_type = NumberType::kBf16;
  return job;
}

constexpr cudaError_t kOfACall = cudaErrorLaunchOutOfResources;
constexpr cudaError_t kOfTheDevice = cudaErrorECCUncorrectable;
#ifdef HORIZON_LONG_TEST
constexpr bool kAll = true;
#else
constexpr bool kAll = false;
#endif

size_t CountOf(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

struct Case {
  const char* name;
  fake_cuda::Options options;
  int64_t accumulation = 1;
  AnchorHome anchor_home = AnchorHome::kDevice;
  // Of how many calls one is tried, from a first that differs from case to case: failing once, and
  // for good.
  uint64_t every = 1;
  uint64_t every_for_good = 1;
};

class CudaTrainingFailure : public testing::TestWithParam<Case> {
 protected:
  CudaTrainingFailure() {
    job_.accumulation = GetParam().accumulation;
    plan_.anchor_home = GetParam().anchor_home;
    fake_cuda::Reset(GetParam().options);
    const absl::StatusOr<TrainingCaseOutcome> undisturbed = Live();
    EXPECT_TRUE(undisturbed.ok()) << undisturbed.status();
    if (undisturbed.ok()) digest_ = undisturbed->digest;
    calls_ = fake_cuda::CallCount();
    pieces_ = fake_cuda::WorkCount();
    EXPECT_GT(calls_, 1000U);
    EXPECT_GT(pieces_, 200U);
  }

  // A device, its context, a trainer, a step and its update, and all of it given back.
  absl::StatusOr<TrainingCaseOutcome> Live() {
    const absl::StatusOr<std::unique_ptr<DeviceContext>> context =
        CudaKernels().make_device_context();
    if (!context.ok()) return context.status();
    const auto batch = [&](int64_t step, int64_t micro_batch) {
      return RandomTokens(spec_, job_, static_cast<uint64_t>(10 * step + micro_batch), 3);
    };
    const auto device = [this](Bytes bytes) {
      return MakeCudaDevice({.capacity = bytes, .clock = &clock_});
    };
    return RunTrainingCase({.spec = spec_,
                            .job = job_,
                            .plan = plan_,
                            .source = RandomSource(spec_, 3),
                            .batch = batch,
                            .device = device,
                            .kernels = &CudaKernels(),
                            .device_context = context->get()});
  }

  void Begin(uint64_t seed) {
    fake_cuda::Options options = GetParam().options;
    options.seed = seed;
    fake_cuda::Reset(options);
  }

  // Lives with the failure that was asked for; whether it made no difference.
  bool Survives() {
    const absl::StatusOr<TrainingCaseOutcome> outcome = Live();
    EXPECT_THAT(fake_cuda::Leaks(), IsEmpty());
    if (outcome.ok()) {
      EXPECT_EQ(outcome->digest, digest_);
      return true;
    }
    EXPECT_TRUE(fake_cuda::HasFailed()) << outcome.status();
    const std::string message(outcome.status().message());
    EXPECT_EQ(CountOf("cannot ", message), 1U)
        << "not one error that says what failed: " << message;
    EXPECT_LE(CountOf("step ", message), 1U) << message;
    EXPECT_EQ(FailureSourceOf(outcome.status()), FailureSource::kDevice) << outcome.status();
    return false;
  }

  // How many of the calls, each failing in a run of its own, made no difference.
  void FailEach(uint64_t every, cudaError_t error, fake_cuda::Persistence persistence) {
    uint64_t tried = 0;
    uint64_t survived = 0;
    for (uint64_t call = 1 + calls_ % every; call <= calls_; call += every) {
      SCOPED_TRACE(testing::Message() << "call " << call << " of " << calls_);
      Begin(call);
      fake_cuda::FailCall(call, error, persistence);
      ++tried;
      if (Survives()) ++survived;
    }
    // Giving things back, optional questions and page-locking (slabs serve) may fail without harm.
    EXPECT_LT(survived, tried / 2);
  }

  const ModelSpec spec_ = SmallModel();
  TrainingJob job_ = SmallJob();
  StreamPlan plan_;
  RealClock clock_;
  uint64_t digest_ = 0;
  uint64_t calls_ = 0;
  uint64_t pieces_ = 0;
};

TEST_P(CudaTrainingFailure, ACallThatFailsOnceEndsTheRunWithOneErrorOrChangesNothing) {
  FailEach(GetParam().every, kOfACall, fake_cuda::Persistence::kOnce);
}

TEST_P(CudaTrainingFailure, ADeviceThatIsLostInACallEndsTheRunWithOneErrorOrChangesNothing) {
  FailEach(GetParam().every_for_good, kOfTheDevice, fake_cuda::Persistence::kSticky);
}

TEST_P(CudaTrainingFailure, WorkThatFailsLateEndsTheRunWithAnErrorThatNamesIt) {
  for (uint64_t piece = 1; piece <= pieces_; piece += GetParam().every) {
    SCOPED_TRACE(testing::Message() << "piece " << piece << " of " << pieces_);
    Begin(piece);
    fake_cuda::FailWork(piece, cudaErrorIllegalAddress);
    EXPECT_FALSE(Survives());
  }
}

// Whatever the chunks of the loss, the head's product is chosen for other sizes than it has.
TEST_P(CudaTrainingFailure, AnAlgorithmThatIsRefusedEndsTheRun) {
  fake_cuda::Options options = GetParam().options;
  options.algorithms_serve_other_sizes = false;
  fake_cuda::Reset(options);
  const absl::Status status = Live().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_EQ(FailureSourceOf(status), FailureSource::kDevice) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("step 1, loss"), HasSubstr("equal bits")));
  EXPECT_THAT(fake_cuda::Leaks(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Runs, CudaTrainingFailure,
    testing::Values(Case{.name = "locked_pages", .every = 1, .every_for_good = kAll ? 1 : 6},
                    Case{.name = "slabs",
                         .options = {.most_locked_bytes_a_call = 32 << 10},
                         .accumulation = 2,
                         .anchor_home = AnchorHome::kHost,
                         .every = kAll ? 1 : 11,
                         .every_for_good = kAll ? 1 : 23},
                    Case{.name = "without_marks",
                         .options = {.writes_values = false},
                         .accumulation = 2,
                         .every = kAll ? 1 : 13,
                         .every_for_good = kAll ? 1 : 29}),
    [](const auto& run) { return run.param.name; });

}  // namespace
}  // namespace horizon

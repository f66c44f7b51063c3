// The CUDA device on the fake CUDA when calls and work fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/failure_source.h"
#include "common/log.h"
#include "runtime/device/cuda_device.h"
#include "runtime/device/cuda_survey.h"
#include "selftest/conformance/double_words_cuda.h"
#include "selftest/conformance/pipeline.h"
#include "tests/fake_cuda/fake_cuda_control.h"
#include "tests/runtime/device/shorthand.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t kCapacity = uint64_t{1} << 16;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

class CudaFailure : public testing::Test {
 protected:
  ~CudaFailure() override {
    EXPECT_THAT(fake_cuda::Leaks(), IsEmpty());
    fake_cuda::Reset();
  }

  absl::StatusOr<std::unique_ptr<Device>> Make(Bytes capacity = Bytes(kCapacity)) {
    return MakeCudaDevice({.capacity = capacity, .clock = &clock_});
  }
  // A device's life with some of everything in it.
  absl::Status Live() {
    auto device = Make();
    if (!device.ok()) return device.status();
    const auto arrived = RunPipeline(**device, OmittedWait::kNothing, DoubleWordsOnCuda);
    if (!arrived.ok()) return arrived.status();
    for (int item = 0; item < kPipelineItems; ++item) {
      if ((*arrived)[item] != PipelineResult(item)) return absl::DataLossError("wrong numbers");
    }
    const auto stream = (*device)->CreateStream({.name = "last"});
    const auto event = (*device)->CreateEvent();
    if (!stream.ok()) return stream.status();
    if (!event.ok()) return event.status();
    for (const absl::Status& status :
         {(*device)->Record(*stream, *event), (*device)->Await(*event)}) {
      if (!status.ok()) return status;
    }
    return (*device)->TimeOf(*event).status();
  }

  VirtualClock clock_{VirtualClock::Mode::kSleepAdvances};
};

TEST_F(CudaFailure, EachCallThatFailsGivesOneClearErrorAndLeavesNothing) {
  fake_cuda::Reset();
  ASSERT_TRUE(Live().ok());
  const uint64_t calls = fake_cuda::CallCount();
  ASSERT_GT(calls, 100);
  for (const fake_cuda::Persistence persistence :
       {fake_cuda::Persistence::kOnce, fake_cuda::Persistence::kSticky}) {
    const bool sticky = persistence == fake_cuda::Persistence::kSticky;
    uint64_t survived = 0;
    for (uint64_t call = 1; call <= calls; ++call) {
      SCOPED_TRACE(testing::Message() << (sticky ? "sticky at call " : "call ") << call);
      fake_cuda::Reset({.seed = call});
      fake_cuda::FailCall(call, sticky ? cudaErrorECCUncorrectable : cudaErrorLaunchOutOfResources,
                          persistence);
      const absl::Status status = Live();
      EXPECT_THAT(fake_cuda::Leaks(), IsEmpty());
      if (status.ok()) {
        ++survived;
        continue;
      }
      EXPECT_THAT(Text(status), AllOf(HasSubstr("cannot "), HasSubstr("CUDA error")));
      EXPECT_EQ(FailureSourceOf(status), FailureSource::kDevice) << status;
    }
    // Tearing down, optional questions and page-locking (slabs serve) may fail without harm.
    EXPECT_LT(survived, calls / 2);
  }
}

TEST_F(CudaFailure, WorkThatFailsLateIsNamed) {
  constexpr int kOperations = 6;
  for (int seed = 1; seed <= 10; ++seed) {
    // Each operation is two pieces for the fake: itself and the mark behind it.
    for (uint64_t piece = 1; piece <= uint64_t{2} * kOperations; ++piece) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", piece " << piece);
      fake_cuda::Reset({.seed = static_cast<uint64_t>(seed)});
      auto device = Make();
      ASSERT_TRUE(device.ok()) << device.status();
      const StreamRef stream = NewStream(**device, "compute"), other = NewStream(**device, "load");
      const DeviceMemory memory = NewMemory(**device, 64_B);
      std::vector<EventRef> marks;
      const int failing = static_cast<int>(piece - 1) / 2;
      fake_cuda::FailWork(piece, cudaErrorIllegalAddress);
      for (int i = 0; i < kOperations; ++i) {
        EXPECT_TRUE((*device)
                        ->Launch(stream, {.name = "operation " + std::to_string(i)},
                                 DoubleWordsOnCuda(memory.data(), memory.data(), 16))
                        .ok());
        marks.push_back(NewEvent(**device));
        EXPECT_TRUE((*device)->Record(stream, marks.back()).ok());
      }
      const absl::Status last = (*device)->Await(marks.back());
      EXPECT_EQ(last.code(), absl::StatusCode::kInternal);
      EXPECT_THAT(Text(last), AllOf(HasSubstr("'operation " + std::to_string(failing) + "'"),
                                    HasSubstr("compute"), HasSubstr("illegal memory access")));
      for (int i = 0; i < kOperations; ++i) {
        EXPECT_EQ((*device)->Await(marks[static_cast<size_t>(i)]),
                  i < failing ? absl::OkStatus() : last)
            << "mark " << i;
      }
      EXPECT_EQ((*device)->Launch(other, {.name = "next"}, KernelReturning(absl::OkStatus())),
                last);
      EXPECT_EQ(Finish(**device, other), last) << "all streams are lost";
      EXPECT_EQ(Finish(**device, NewStream(**device)), last) << "later ones too";
      EXPECT_EQ((*device)->TimeOf(marks.front()).status(), last);
    }
  }
}

TEST_F(CudaFailure, WithoutMarksTheErrorNamesWhatWasNotAwaited) {
  fake_cuda::Reset({.writes_values = false});
  auto device = Make();
  ASSERT_TRUE(device.ok()) << device.status();
  const StreamRef stream = NewStream(**device, "compute");
  const DeviceMemory memory = NewMemory(**device, 64_B);
  const auto launch = [&](const char* name) {
    return (*device)->Launch(stream, {.name = name},
                             DoubleWordsOnCuda(memory.data(), memory.data(), 16));
  };
  EXPECT_TRUE(launch("first").ok());
  EXPECT_TRUE(Finish(**device, stream).ok());
  fake_cuda::FailWork(1, cudaErrorIllegalAddress);
  EXPECT_TRUE(launch("second").ok());
  EXPECT_THAT(Text(Finish(**device, stream)), HasSubstr("'second'"));
}

TEST_F(CudaFailure, WorkThatFailsLateInAChainEndsItCleanly) {
  fake_cuda::Reset();
  ASSERT_TRUE(Live().ok());
  const uint64_t pieces = fake_cuda::WorkCount();
  ASSERT_GT(pieces, 40);
  for (uint64_t piece = 1; piece <= pieces; ++piece) {
    SCOPED_TRACE(testing::Message() << "piece " << piece);
    fake_cuda::Reset({.seed = piece});
    fake_cuda::FailWork(piece, cudaErrorLaunchFailure);
    const absl::Status status = Live();
    EXPECT_THAT(fake_cuda::Leaks(), IsEmpty());
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    EXPECT_EQ(FailureSourceOf(status), FailureSource::kDevice);
    // The first piece is the trial of the marks.
    if (piece > 1) {
      EXPECT_THAT(Text(status), HasSubstr("which is lost to this process"));
    }
  }
}

TEST_F(CudaFailure, ADeviceThatCannotBeUsedSaysWhy) {
  const auto why = [&](const fake_cuda::Options& options, Bytes capacity = Bytes(kCapacity)) {
    fake_cuda::Reset(options);
    const absl::Status status = Make(capacity).status();
    EXPECT_EQ(FailureSourceOf(status), FailureSource::kDevice) << status;
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    return Text(status);
  };
  EXPECT_EQ(why({.driver_version = 0, .driver = cudaErrorInsufficientDriver}),
            "no NVIDIA driver is installed");
  EXPECT_THAT(why({.driver_version = 12020, .driver = cudaErrorInsufficientDriver}),
              AllOf(HasSubstr("too old"), HasSubstr("12.2"), HasSubstr("13.0")));
  EXPECT_THAT(why({.devices = {}}), HasSubstr("finds no device"));
  EXPECT_THAT(why({.devices = {{.name = "T4", .major = 7, .minor = 5, .has_kernel_image = false}}}),
              AllOf(HasSubstr("T4"), HasSubstr("7.5"), HasSubstr("not built for this device")));
  fake_cuda::Reset();
  const auto none = MakeCudaDevice({.index = 1, .clock = &clock_});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(none.status()), HasSubstr("cuda:1"));
  EXPECT_EQ(MakeCudaDevice({}).status().code(), absl::StatusCode::kInvalidArgument) << "no clock";
}

TEST_F(CudaFailure, MemoryThatIsNotFreeIsToldInBytes) {
  fake_cuda::Reset({.devices = {{.memory_bytes = 1 << 20, .memory_of_others_bytes = 1000}}});
  const absl::Status status = Make(Bytes((1 << 20) - 999)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(status), AllOf(HasSubstr(std::to_string((1 << 20) - 999)),
                                  HasSubstr(std::to_string((1 << 20) - 1000)), HasSubstr("lower")));
  EXPECT_TRUE(Make(Bytes((1 << 20) - 1000)).ok());
}

TEST_F(CudaFailure, TensorCoresThatDoNotTakeBf16AreToldAndTheDeviceIsUsed) {
  fake_cuda::Reset(
      {.devices = {{.name = "A", .major = 8}, {.name = "T4", .major = 7, .minor = 5}}});
  std::FILE* const file = std::tmpfile();
  Log log(file, LogLevel::kDebug, LogStyle::kPlain);
  for (const int index : {0, 1}) {
    const auto device = MakeCudaDevice({.index = index, .clock = &clock_, .log = &log});
    EXPECT_TRUE(device.ok()) << device.status();
    EXPECT_TRUE(MakeCudaDevice({.index = index, .clock = &clock_}).ok()) << "nobody to tell";
  }
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  EXPECT_THAT(text, HasSubstr("cuda:1 (T4): its tensor cores do not take bf16"));
  EXPECT_THAT(text, Not(HasSubstr("cuda:0")));
}

TEST_F(CudaFailure, TheSurveyTellsOfEachDevice) {
  fake_cuda::Reset(
      {.devices = {{.name = "A", .major = 9}, {.name = "B", .major = 5, .has_kernel_image = false}},
       .driver_version = 13010});
  const CudaSurvey survey = SurveyCuda();
  EXPECT_TRUE(survey.in_build && survey.usable.ok()) << survey.usable;
  EXPECT_EQ(CudaVersionText(survey.driver_version), "13.1");
  ASSERT_EQ(survey.devices.size(), 2U);
  EXPECT_TRUE(survey.devices[0].usable.ok());
  EXPECT_EQ(survey.devices[0].name, "A");
  EXPECT_EQ(survey.devices[1].bus_id, "00000000:02:00.0");
  EXPECT_THAT(Text(survey.devices[1].usable), HasSubstr("not built for"));
}

}  // namespace
}  // namespace horizon

// The part of the suite about work that fails, Cancel and the end of a device.
#include <atomic>
#include <memory>
#include <semaphore>
#include <thread>

#include "common/failure_source.h"
#include "gmock/gmock.h"
#include "tests/runtime/device/conformance.h"

namespace horizon {
namespace {

absl::Status Broken() {
  return WithFailureSource(absl::DataLossError("kernel broke"), FailureSource::kNumerics);
}

TEST_P(DeviceConformance, AwaitTellsOfErrorsBeforeTheMarkAndOfNoneAfter) {
  ForEachSeed([](Device& device) {
    const StreamRef stream = NewStream(device);
    const EventRef before = NewEvent(device), after = NewEvent(device);
    EXPECT_TRUE(device.Launch(stream, {}, Returning(absl::OkStatus())).ok());
    EXPECT_TRUE(device.Record(stream, before).ok());
    device.Launch(stream, {}, Returning(Broken())).IgnoreError();
    EXPECT_TRUE(device.Record(stream, after).ok());
    EXPECT_EQ(device.Await(after), Broken()) << "the error itself, with its payload";
    EXPECT_TRUE(device.Await(before).ok());
    EXPECT_TRUE(device.TimeOf(before).ok());
    EXPECT_EQ(device.TimeOf(after).status(), Broken());
    EXPECT_EQ(device.Await(after), Broken()) << "as often as asked";
  });
}

TEST_P(DeviceConformance, AFailedStreamSkipsWhatFollowsAndKeepsItsFirstError) {
  ForEachSeed([](Device& device) {
    const StreamRef stream = NewStream(device), other = NewStream(device);
    const DeviceMemory memory = NewMemory(device, 8);
    RegisteredBytes out(device, 8), back(device, 8), want(device, 8);
    back.Fill(3);
    want.Fill(3);
    auto calls = std::make_shared<int>(0);
    EXPECT_TRUE(device.CopyToDevice(stream, memory.data(), out.data(), 8).ok());
    device.Launch(stream, {}, Returning(Broken())).IgnoreError();
    device.Launch(stream, {}, Returning(absl::OkStatus(), calls)).IgnoreError();
    device.Launch(stream, {}, Returning(absl::AbortedError("second"), calls)).IgnoreError();
    device.CopyToHost(stream, back.data(), memory.data(), 8).IgnoreError();
    EXPECT_EQ(Finish(device, stream), Broken());
    device.Launch(stream, {}, Returning(absl::OkStatus(), calls)).IgnoreError();
    EXPECT_EQ(Finish(device, stream), Broken()) << "for ever";
    EXPECT_EQ(*calls, 0);
    EXPECT_TRUE(back.Equals(want)) << "a skipped copy writes nothing";
    EXPECT_TRUE(device.Launch(other, {}, Returning(absl::OkStatus(), calls)).ok());
    EXPECT_TRUE(Finish(device, other).ok()) << "other streams do not care";
    EXPECT_EQ(*calls, 1);
  });
}

TEST_P(DeviceConformance, ErrorsTravelAlongWaitsAndNobodyHangs) {
  ForEachSeed([](Device& device) {
    const StreamRef first = NewStream(device), second = NewStream(device),
                    third = NewStream(device);
    const EventRef one = NewEvent(device), two = NewEvent(device);
    auto calls = std::make_shared<int>(0);
    device.Launch(first, {}, Returning(Broken())).IgnoreError();
    EXPECT_TRUE(device.Record(first, one).ok());
    EXPECT_TRUE(device.Launch(second, {}, Returning(absl::OkStatus(), calls)).ok());
    device.Wait(second, one).IgnoreError();
    device.Launch(second, {}, Returning(absl::OkStatus(), calls)).IgnoreError();
    EXPECT_TRUE(device.Record(second, two).ok());
    device.Wait(third, two).IgnoreError();
    device.Launch(third, {}, Returning(absl::OkStatus(), calls)).IgnoreError();
    EXPECT_EQ(Finish(device, third), Broken());
    EXPECT_EQ(device.Await(two), Broken());
    EXPECT_EQ(*calls, 1) << "only what did not wait";
  });
}

TEST_P(DeviceConformance, AnErrorDoesNotTravelToTheStreamThatIsWaitedFor) {
  ForEachSeed([](Device& device) {
    const StreamRef good = NewStream(device), bad = NewStream(device);
    const EventRef event = NewEvent(device);
    EXPECT_TRUE(device.Record(good, event).ok());
    EXPECT_TRUE(device.Wait(bad, event).ok());
    device.Launch(bad, {}, Returning(Broken())).IgnoreError();
    EXPECT_EQ(Finish(device, bad), Broken());
    EXPECT_TRUE(Finish(device, good).ok());
  });
}

TEST_P(DeviceConformance, ADeviceWithWorkPendingDiesWithoutHangOrLeak) {
  for (int seed = 0; seed < GetParam().seeds; ++seed) {
    auto calls = std::make_shared<int>(0);
    std::unique_ptr<Device> device = Make(kCapacity, static_cast<uint64_t>(seed));
    const StreamRef stream = NewStream(*device), waiting = NewStream(*device);
    const EventRef event = NewEvent(*device);
    EXPECT_TRUE(device->Launch(stream, {}, Returning(absl::OkStatus(), calls)).ok());
    EXPECT_TRUE(device->Record(stream, event).ok());
    EXPECT_TRUE(device->Wait(waiting, event).ok());
    EXPECT_TRUE(device->Launch(waiting, {}, Returning(absl::OkStatus(), calls)).ok());
    if (seed % 2 == 1) {
      EXPECT_TRUE(device->Await(event).ok());
    }
    device.reset();
    EXPECT_EQ(calls.use_count(), 1) << "a kernel still exists";
  }
}

TEST_P(DeviceConformance, CancelEndsAllWork) {
  ForEachSeed([](Device& device) {
    const absl::Status reason = absl::DeadlineExceededError("stuck");
    const StreamRef stream = NewStream(device), broken = NewStream(device);
    const EventRef before = NewEvent(device), late = NewEvent(device);
    RegisteredBytes host(device, 8);
    auto calls = std::make_shared<int>(0);
    {
      const DeviceMemory memory = NewMemory(device, 8);
      EXPECT_TRUE(device.Record(stream, before).ok());
      EXPECT_TRUE(device.Await(before).ok());
      device.Launch(broken, {}, Returning(Broken())).IgnoreError();
      EXPECT_EQ(Finish(device, broken), Broken());
      EXPECT_TRUE(device.CopyToDevice(stream, memory.data(), host.data(), 8).ok());
      device.Cancel(reason);
    }
    device.Cancel(absl::UnknownError("again"));
    EXPECT_TRUE(device.Await(before).ok());
    EXPECT_EQ(device.Launch(stream, {}, Returning(absl::OkStatus(), calls)), reason);
    EXPECT_EQ(device.CopyToDevice(stream, nullptr, nullptr, 0), reason);
    EXPECT_EQ(device.CopyToHost(stream, nullptr, nullptr, 0), reason);
    EXPECT_EQ(device.Wait(stream, before), reason);
    EXPECT_TRUE(device.Record(stream, late).ok());
    EXPECT_EQ(device.Await(late), reason);
    EXPECT_EQ(Finish(device, broken), Broken()) << "the first error stays";
    EXPECT_EQ(Finish(device, NewStream(device)), reason);
    EXPECT_EQ(*calls, 0);
    EXPECT_EQ(calls.use_count(), 1);
  });
}

TEST_P(DeviceConformance, CancelReturnsWhenWhatRunsHasEnded) {
  const auto device = Make();
  const StreamRef stream = NewStream(*device);
  const EventRef event = NewEvent(*device);
  std::binary_semaphore begun(0), go_on(0);
  std::atomic<bool> ended = false;
  const std::jthread feeder([&] {
    device
        ->Launch(stream, {.name = "long"},
                 [&](const KernelContext&) {
                   begun.release();
                   go_on.acquire();
                   ended = true;
                   return absl::OkStatus();
                 })
        .IgnoreError();
    EXPECT_TRUE(device->Record(stream, event).ok());
    // The mark was reached before Cancel, or it was not; in both cases it has passed.
    const absl::Status status = device->Await(event);
    EXPECT_TRUE(status.ok() || status == absl::CancelledError("enough")) << status;
  });
  begun.acquire();
  const std::jthread releaser([&] { go_on.release(); });
  device->Cancel(absl::CancelledError("enough"));
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace horizon

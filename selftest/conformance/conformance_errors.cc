// The part of the suite about work that fails, Cancel and the end of a device.
#include <atomic>
#include <memory>
#include <semaphore>
#include <thread>

#include "common/failure_source.h"
#include "selftest/conformance/check_devices.h"
#include "selftest/conformance/conformance_parts.h"
#include "selftest/conformance/shorthand.h"
#include "selftest/findings.h"

namespace horizon {
namespace {

absl::Status Broken() {
  return WithFailureSource(absl::DataLossError("kernel broke"), FailureSource::kNumerics);
}

void AwaitTellsOfErrorsBeforeTheMarkAndOfNoneAfter(const DeviceFactory& factory,
                                                   Findings& findings) {
  CheckDevices devices(factory, findings);
  devices.ForEachSeed([&](Device& device) {
    const StreamRef stream = NewStream(device, findings);
    const EventRef before = NewEvent(device, findings), after = NewEvent(device, findings);
    VERIFY_OK(findings, device.Launch(stream, {}, KernelReturning(absl::OkStatus())));
    VERIFY_OK(findings, device.Record(stream, before));
    device.Launch(stream, {}, KernelReturning(Broken())).IgnoreError();
    VERIFY_OK(findings, device.Record(stream, after));
    VERIFY_EQ(findings, device.Await(after), Broken()) << "the error itself, with its payload";
    VERIFY_OK(findings, device.Await(before));
    VERIFY_OK(findings, device.TimeOf(before));
    VERIFY_EQ(findings, device.TimeOf(after).status(), Broken());
    VERIFY_EQ(findings, device.Await(after), Broken()) << "as often as asked";
  });
}

void AFailedStreamSkipsWhatFollowsAndKeepsItsFirstError(const DeviceFactory& factory,
                                                        Findings& findings) {
  CheckDevices devices(factory, findings);
  devices.ForEachSeed([&](Device& device) {
    const StreamRef stream = NewStream(device, findings), other = NewStream(device, findings);
    const DeviceMemory memory = NewMemory(device, findings, 8_B);
    RegisteredBytes out(device, findings, 8_B), back(device, findings, 8_B),
        want(device, findings, 8_B);
    back.Fill(3);
    want.Fill(3);
    auto calls = std::make_shared<int>(0);
    VERIFY_OK(findings, device.CopyToDevice(stream, memory.data(), out.data(), 8_B));
    device.Launch(stream, {}, KernelReturning(Broken())).IgnoreError();
    device.Launch(stream, {}, KernelReturning(absl::OkStatus(), calls)).IgnoreError();
    device.Launch(stream, {}, KernelReturning(absl::AbortedError("second"), calls)).IgnoreError();
    device.CopyToHost(stream, back.data(), memory.data(), 8_B).IgnoreError();
    VERIFY_EQ(findings, Finish(device, findings, stream), Broken());
    device.Launch(stream, {}, KernelReturning(absl::OkStatus(), calls)).IgnoreError();
    VERIFY_EQ(findings, Finish(device, findings, stream), Broken()) << "for ever";
    VERIFY_EQ(findings, *calls, 0);
    VERIFY(findings, back.Equals(want)) << "a skipped copy writes nothing";
    VERIFY_OK(findings, device.Launch(other, {}, KernelReturning(absl::OkStatus(), calls)));
    VERIFY_OK(findings, Finish(device, findings, other)) << "other streams do not care";
    VERIFY_EQ(findings, *calls, 1);
  });
}

void ErrorsTravelAlongWaitsAndNobodyHangs(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  devices.ForEachSeed([&](Device& device) {
    const StreamRef first = NewStream(device, findings), second = NewStream(device, findings),
                    third = NewStream(device, findings);
    const EventRef one = NewEvent(device, findings), two = NewEvent(device, findings);
    auto calls = std::make_shared<int>(0);
    device.Launch(first, {}, KernelReturning(Broken())).IgnoreError();
    VERIFY_OK(findings, device.Record(first, one));
    VERIFY_OK(findings, device.Launch(second, {}, KernelReturning(absl::OkStatus(), calls)));
    device.Wait(second, one).IgnoreError();
    device.Launch(second, {}, KernelReturning(absl::OkStatus(), calls)).IgnoreError();
    VERIFY_OK(findings, device.Record(second, two));
    device.Wait(third, two).IgnoreError();
    device.Launch(third, {}, KernelReturning(absl::OkStatus(), calls)).IgnoreError();
    VERIFY_EQ(findings, Finish(device, findings, third), Broken());
    VERIFY_EQ(findings, device.Await(two), Broken());
    VERIFY_EQ(findings, *calls, 1) << "only what did not wait";
  });
}

void AnErrorDoesNotTravelToTheStreamThatIsWaitedFor(const DeviceFactory& factory,
                                                    Findings& findings) {
  CheckDevices devices(factory, findings);
  devices.ForEachSeed([&](Device& device) {
    const StreamRef good = NewStream(device, findings), bad = NewStream(device, findings);
    const EventRef event = NewEvent(device, findings);
    VERIFY_OK(findings, device.Record(good, event));
    VERIFY_OK(findings, device.Wait(bad, event));
    device.Launch(bad, {}, KernelReturning(Broken())).IgnoreError();
    VERIFY_EQ(findings, Finish(device, findings, bad), Broken());
    VERIFY_OK(findings, Finish(device, findings, good));
  });
}

void ADeviceWithWorkPendingDiesWithoutHangOrLeak(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  devices.ForSeeds([&](uint64_t seed) {
    auto calls = std::make_shared<int>(0);
    std::unique_ptr<Device> device = devices.Make(CheckDevices::kCapacity, seed);
    REQUIRE(findings, device != nullptr);
    const StreamRef stream = NewStream(*device, findings), waiting = NewStream(*device, findings);
    const EventRef event = NewEvent(*device, findings);
    VERIFY_OK(findings, device->Launch(stream, {}, KernelReturning(absl::OkStatus(), calls)));
    VERIFY_OK(findings, device->Record(stream, event));
    VERIFY_OK(findings, device->Wait(waiting, event));
    VERIFY_OK(findings, device->Launch(waiting, {}, KernelReturning(absl::OkStatus(), calls)));
    if (seed % 2 == 1) {
      VERIFY_OK(findings, device->Await(event));
    }
    device.reset();
    VERIFY_EQ(findings, calls.use_count(), 1) << "a kernel still exists";
  });
}

void CancelEndsAllWork(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  devices.ForEachSeed([&](Device& device) {
    const absl::Status reason = absl::DeadlineExceededError("stuck");
    const StreamRef stream = NewStream(device, findings), broken = NewStream(device, findings);
    const EventRef before = NewEvent(device, findings), late = NewEvent(device, findings);
    RegisteredBytes host(device, findings, 8_B);
    auto calls = std::make_shared<int>(0);
    {
      const DeviceMemory memory = NewMemory(device, findings, 8_B);
      VERIFY_OK(findings, device.Record(stream, before));
      VERIFY_OK(findings, device.Await(before));
      device.Launch(broken, {}, KernelReturning(Broken())).IgnoreError();
      VERIFY_EQ(findings, Finish(device, findings, broken), Broken());
      VERIFY_OK(findings, device.CopyToDevice(stream, memory.data(), host.data(), 8_B));
      device.Cancel(reason);
    }
    device.Cancel(absl::UnknownError("again"));
    VERIFY_OK(findings, device.Await(before));
    VERIFY_EQ(findings, device.Launch(stream, {}, KernelReturning(absl::OkStatus(), calls)),
              reason);
    VERIFY_EQ(findings, device.CopyToDevice(stream, nullptr, nullptr, 0_B), reason);
    VERIFY_EQ(findings, device.CopyToHost(stream, nullptr, nullptr, 0_B), reason);
    VERIFY_EQ(findings, device.Wait(stream, before), reason);
    VERIFY_OK(findings, device.Record(stream, late));
    VERIFY_EQ(findings, device.Await(late), reason);
    VERIFY_EQ(findings, Finish(device, findings, broken), Broken()) << "the first error stays";
    VERIFY_EQ(findings, Finish(device, findings, NewStream(device, findings)), reason);
    VERIFY_EQ(findings, *calls, 0);
    VERIFY_EQ(findings, calls.use_count(), 1);
  });
}

void CancelReturnsWhenWhatRunsHasEnded(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  const auto device = devices.Make();
  REQUIRE(findings, device != nullptr);
  const StreamRef stream = NewStream(*device, findings);
  const EventRef event = NewEvent(*device, findings);
  std::counting_semaphore<> begun(0), go_on(0);
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
    VERIFY_OK(findings, device->Record(stream, event));
    // The mark was reached before Cancel, or it was not; in both cases it has passed.
    const absl::Status status = device->Await(event);
    VERIFY(findings, status.ok() || status == absl::CancelledError("enough")) << status;
    begun.release();  // nobody waits for a kernel that is never called
  });
  begun.acquire();
  const std::jthread releaser([&] { go_on.release(); });
  device->Cancel(absl::CancelledError("enough"));
  VERIFY(findings, ended);
}

}  // namespace

std::span<const ConformanceCheck> ErrorChecks() {
  static constexpr ConformanceCheck kChecks[] = {
      {"AwaitTellsOfErrorsBeforeTheMarkAndOfNoneAfter",
       AwaitTellsOfErrorsBeforeTheMarkAndOfNoneAfter},
      {"AFailedStreamSkipsWhatFollowsAndKeepsItsFirstError",
       AFailedStreamSkipsWhatFollowsAndKeepsItsFirstError},
      {"ErrorsTravelAlongWaitsAndNobodyHangs", ErrorsTravelAlongWaitsAndNobodyHangs},
      {"AnErrorDoesNotTravelToTheStreamThatIsWaitedFor",
       AnErrorDoesNotTravelToTheStreamThatIsWaitedFor},
      {"ADeviceWithWorkPendingDiesWithoutHangOrLeak", ADeviceWithWorkPendingDiesWithoutHangOrLeak},
      {"CancelEndsAllWork", CancelEndsAllWork},
      {"CancelReturnsWhenWhatRunsHasEnded", CancelReturnsWhenWhatRunsHasEnded},
  };
  return kChecks;
}

}  // namespace horizon

#include "runtime/device/host_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <optional>
#include <thread>

#include "tests/runtime/device/conformance.h"
#include "tests/runtime/device/shorthand.h"

namespace horizon {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, DeviceConformance,
                         EveryCheckOn(DeviceFactory{
                             .name = "host",
                             .create = [](Bytes capacity, Clock* clock,
                                          uint64_t) -> absl::StatusOr<std::unique_ptr<Device>> {
                               return HostDevice::Create({.capacity = capacity, .clock = clock});
                             }}),
                         CheckName);

INSTANTIATE_TEST_SUITE_P(HostWithALink, DeviceConformance,
                         EveryCheckOn(DeviceFactory{
                             .name = "host with a link",
                             .create = [](Bytes capacity, Clock* clock,
                                          uint64_t) -> absl::StatusOr<std::unique_ptr<Device>> {
                               return HostDevice::Create({.capacity = capacity,
                                                          .to_device = BytesPerSecond{1e9},
                                                          .to_host = BytesPerSecond{2e9},
                                                          .clock = clock});
                             }}),
                         CheckName);

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A clock of tests that also counts the waits.
class CountingClock final : public Clock {
 public:
  Nanoseconds Now() override { return inner_.Now(); }
  bool WaitUntil(Nanoseconds deadline, std::stop_token stop) override {
    ++waits_;
    return inner_.WaitUntil(deadline, std::move(stop));
  }
  int waits() const { return waits_; }

 private:
  VirtualClock inner_{VirtualClock::Mode::kSleepAdvances};
  int waits_ = 0;
};

// One nanosecond a byte to the device, two to the host.
struct Linked {
  explicit Linked(Clock& its_clock, uint64_t bytes = 10 * kMiB) : clock(its_clock) {
    auto created = HostDevice::Create({.capacity = Bytes(bytes),
                                       .to_device = BytesPerSecond{1e9},
                                       .to_host = BytesPerSecond{5e8},
                                       .clock = &clock});
    EXPECT_TRUE(created.ok()) << created.status();
    device = *std::move(created);
    memory = NewMemory(*device, Bytes(bytes));
    host.emplace(*device, Bytes(bytes));
    stream = NewStream(*device);
  }
  absl::Status CopyToDevice(uint64_t bytes) {
    return device->CopyToDevice(stream, memory.data(), host->data(), Bytes(bytes));
  }
  absl::Status CopyToHost(uint64_t bytes, StreamRef on) {
    return device->CopyToHost(on, host->data(), memory.data(), Bytes(bytes));
  }
  // What `work` takes on the clock.
  int64_t Takes(absl::FunctionRef<absl::Status()> work) const {
    const Nanoseconds begin = clock.Now();
    const absl::Status status = work();
    EXPECT_TRUE(status.ok()) << status;
    return (clock.Now() - begin).count();
  }

  Clock& clock;
  std::unique_ptr<HostDevice> device;
  DeviceMemory memory;
  std::optional<TestBytes> host;
  StreamRef stream;
};

TEST(HostDeviceLink, ACopyTakesItsBytesOverTheRateExactly) {
  VirtualClock clock(VirtualClock::Mode::kSleepAdvances);
  Linked linked(clock);
  for (const uint64_t bytes :
       {uint64_t{0}, uint64_t{1}, uint64_t{999}, 4 * kMiB, 4 * kMiB + 1, 9 * kMiB + 7}) {
    EXPECT_EQ(linked.Takes([&] { return linked.CopyToDevice(bytes); }), bytes);
    EXPECT_EQ(linked.Takes([&] { return linked.CopyToHost(bytes, linked.stream); }), 2 * bytes);
  }
}

TEST(HostDeviceLink, ARateThatGivesNoWholeNanosecondRoundsUp) {
  VirtualClock clock(VirtualClock::Mode::kSleepAdvances);
  auto device =
      HostDevice::Create({.capacity = 100_B, .to_device = BytesPerSecond{3e9}, .clock = &clock});
  ASSERT_TRUE(device.ok()) << device.status();
  const DeviceMemory memory = NewMemory(**device, 100_B);
  TestBytes host(**device, 100_B);
  ASSERT_TRUE((*device)->CopyToDevice(NewStream(**device), memory.data(), host.data(), 100_B).ok());
  EXPECT_EQ(clock.Now(), Nanoseconds(34));  // 33.3
}

TEST(HostDeviceLink, CopiesInARowGainNothingFromIdleTime) {
  VirtualClock clock(VirtualClock::Mode::kSleepAdvances);
  Linked linked(clock);
  const auto copy = [&] { return linked.CopyToDevice(1000); };
  EXPECT_EQ(linked.Takes(copy), 1000);
  clock.Advance(Nanoseconds(1'000'000));  // an idle link saves nothing up
  EXPECT_EQ(linked.Takes(copy), 1000);
  EXPECT_EQ(linked.Takes(copy), 1000);
}

TEST(HostDeviceLink, ALaunchThatMovesBytesIsHeldAsACopyIs) {
  VirtualClock clock(VirtualClock::Mode::kSleepAdvances);
  Linked linked(clock);
  const auto launch = [&](const LaunchOptions& options, int64_t own_time) {
    return linked.Takes([&] {
      return linked.device->Launch(linked.stream, options, [&](const KernelContext&) {
        clock.SleepFor(Nanoseconds(own_time));
        return absl::OkStatus();
      });
    });
  };
  EXPECT_EQ(launch({.link_bytes = 500_B}, 0), 500);
  EXPECT_EQ(launch({.link_bytes = 500_B, .direction = LinkDirection::kToHost}, 0), 1000);
  EXPECT_EQ(launch({.link_bytes = 500_B}, 300), 500) << "its own time counts";
  EXPECT_EQ(launch({.link_bytes = 500_B}, 700), 700) << "slower than the link";
  EXPECT_EQ(launch({}, 10), 10) << "a kernel without link bytes knows no link";
}

TEST(HostDeviceLink, TheRecordedTimesAreThoseOfTheLink) {
  VirtualClock clock(VirtualClock::Mode::kSleepAdvances);
  Linked linked(clock);
  const EventRef begin = NewEvent(*linked.device), end = NewEvent(*linked.device);
  ASSERT_TRUE(linked.device->Record(linked.stream, begin).ok());
  ASSERT_TRUE(linked.CopyToDevice(5 * kMiB).ok());
  ASSERT_TRUE(linked.device->Record(linked.stream, end).ok());
  EXPECT_EQ(*linked.device->TimeOf(end) - *linked.device->TimeOf(begin), Nanoseconds(5 * kMiB));
}

TEST(HostDeviceLink, ALargeCopyIsSpreadOverItsTime) {
  CountingClock clock;
  Linked linked(clock);
  ASSERT_TRUE(linked.CopyToDevice(9 * kMiB).ok());
  EXPECT_EQ(clock.waits(), 3);  // 4 + 4 + 1 MiB
}

TEST(HostDeviceLink, StreamsTakeTurnsInOneDirection) {
  VirtualClock clock(VirtualClock::Mode::kByHand);
  Linked linked(clock, 4096);
  const StreamRef other = NewStream(*linked.device);
  std::atomic<bool> asked = false;
  std::atomic<bool> begun = false;
  std::jthread first([&] {
    EXPECT_TRUE(linked.CopyToDevice(1000).ok());
    EXPECT_EQ(clock.Now(), Nanoseconds(1000));
  });
  clock.AwaitSleepers(1);
  std::jthread second([&] {
    asked = true;
    EXPECT_TRUE(linked.device
                    ->Launch(other, {.link_bytes = 500_B},
                             [&](const KernelContext&) {
                               begun = true;
                               return absl::OkStatus();
                             })
                    .ok());
    EXPECT_EQ(clock.Now(), Nanoseconds(1500));
  });
  // Chances to begin too early, which it must not take.
  for (int chance = 0; chance < 10'000 || !asked; ++chance) std::this_thread::yield();
  EXPECT_FALSE(begun);
  clock.Advance(Nanoseconds(1000));
  first.join();
  if (!testing::Test::HasFailure()) clock.AwaitSleepers(1);
  clock.Advance(Nanoseconds(500));
}

TEST(HostDeviceLink, TheTwoDirectionsShareNothing) {
  // One direction is busy while the kernel runs; the other takes its copy meanwhile.
  VirtualClock clock(VirtualClock::Mode::kSleepAdvances);
  Linked linked(clock, 4096);
  const StreamRef back = NewStream(*linked.device);
  EXPECT_TRUE(linked.device
                  ->Launch(linked.stream, {.link_bytes = 1000_B},
                           [&](const KernelContext&) {
                             const std::jthread other(
                                 [&] { EXPECT_TRUE(linked.CopyToHost(100, back).ok()); });
                             return absl::OkStatus();
                           })
                  .ok());
  EXPECT_EQ(clock.Now(), Nanoseconds(1000));
}

TEST(HostDeviceLink, CancelBreaksOffACopyThatIsHeld) {
  VirtualClock clock(VirtualClock::Mode::kByHand);
  Linked linked(clock);
  const absl::Status reason = absl::AbortedError("another lane failed");
  const EventRef event = NewEvent(*linked.device);
  {
    const std::jthread feeder([&] {
      EXPECT_EQ(linked.CopyToDevice(9 * kMiB), reason);
      EXPECT_TRUE(linked.device->Record(linked.stream, event).ok());
    });
    clock.AwaitSleepers(1);
    linked.device->Cancel(reason);
  }
  EXPECT_EQ(linked.device->Await(event), reason);
  EXPECT_EQ(clock.Now(), Nanoseconds(0));
}

TEST(HostDevice, RefusesRatesThatAreNone) {
  VirtualClock clock;
  for (const double rate : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()}) {
    const BytesPerSecond bad{rate};
    EXPECT_EQ(HostDevice::Create({.to_device = bad, .clock = &clock}).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(HostDevice::Create({.to_host = bad, .clock = &clock}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(HostDevice::Create({.capacity = 1_B}).status().code(),
            absl::StatusCode::kInvalidArgument)
      << "no clock";
}

TEST(HostDevice, MoreThanTheMachineHasIsResourceExhausted) {
  VirtualClock clock;
  const auto device = HostDevice::Create({.capacity = Bytes(uint64_t{1} << 60), .clock = &clock});
  EXPECT_EQ(device.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(HostDevice, WorkIsDoneInsideTheCallAndItsErrorReturned) {
  VirtualClock clock;
  const auto device = HostDevice::Create({.capacity = 1024_B, .clock = &clock});
  ASSERT_TRUE(device.ok()) << device.status();
  const absl::StatusOr<StreamRef> stream =
      (*device)->CreateStream({.name = "compute", .threads = 2});
  ASSERT_TRUE(stream.ok()) << stream.status();
  const absl::Status broken = absl::DataLossError("broken");
  std::thread::id thread;
  int workers = 0;
  EXPECT_EQ((*device)->Launch(*stream, {},
                              [&](const KernelContext& context) -> absl::Status {
                                thread = std::this_thread::get_id();
                                workers = context.workers->count();
                                return absl::Status(broken);
                              }),
            broken);
  EXPECT_EQ(thread, std::this_thread::get_id());
  EXPECT_EQ(workers, 2);
  EXPECT_EQ((*device)->Launch(*stream, {}, KernelReturning(absl::OkStatus())), broken);
}

TEST(HostDevice, AStreamFedByTwoAtOnceIsNoticed) {
  VirtualClock clock;
  const auto device = HostDevice::Create({.capacity = 1024_B, .clock = &clock});
  ASSERT_TRUE(device.ok()) << device.status();
  const StreamRef stream = NewStream(**device);
  absl::Status inner;
  EXPECT_TRUE((*device)
                  ->Launch(stream, {},
                           [&](const KernelContext&) {
                             inner =
                                 (*device)->Launch(stream, {}, KernelReturning(absl::OkStatus()));
                             return absl::OkStatus();
                           })
                  .ok());
  EXPECT_EQ(inner.code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace horizon

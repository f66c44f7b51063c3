#include "tests/runtime/device/adversarial_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "selftest/conformance/pipeline.h"
#include "tests/runtime/device/conformance.h"
#include "tests/runtime/device/shorthand.h"

namespace horizon {
namespace {

INSTANTIATE_TEST_SUITE_P(Adversarial, DeviceConformance,
                         EveryCheckOn(DeviceFactory{
                             .name = "adversarial",
                             .seeds = 200,
                             .create = [](Bytes capacity, Clock* clock, uint64_t seed)
                                 -> absl::StatusOr<std::unique_ptr<Device>> {
                               // Small and large queues: with room for one piece of work all is
                               // nearly synchronous.
                               return AdversarialDevice::Create(
                                   {.capacity = capacity,
                                    .seed = seed,
                                    .queue_bound = seed % 4 == 3 ? 1 : 64,
                                    .clock = clock});
                             }}),
                         CheckName);

class AdversarialDeviceTest : public testing::Test {
 protected:
  std::unique_ptr<AdversarialDevice> Make(uint64_t seed = 0, int queue_bound = 64) {
    auto device = AdversarialDevice::Create(
        {.capacity = 4096_B, .seed = seed, .queue_bound = queue_bound, .clock = &clock_});
    EXPECT_TRUE(device.ok()) << device.status();
    return *std::move(device);
  }

  VirtualClock clock_;
};

bool Right(const absl::StatusOr<std::vector<uint32_t>>& arrived) {
  if (!arrived.ok() || arrived->size() != kPipelineItems) return false;
  for (int item = 0; item < kPipelineItems; ++item) {
    if ((*arrived)[item] != PipelineResult(item)) return false;
  }
  return true;
}

TEST_F(AdversarialDeviceTest, EveryForgottenWaitIsSeenByMostSeeds) {
  constexpr int kSeeds = 100;
  for (const OmittedWait omitted :
       {OmittedWait::kLoaded, OmittedWait::kSlotFree, OmittedWait::kComputed,
        OmittedWait::kResultFree, OmittedWait::kSourceFree, OmittedWait::kStored}) {
    int wrong = 0;
    for (int seed = 0; seed < kSeeds; ++seed) {
      wrong += !Right(RunPipeline(*Make(seed), omitted));
    }
    // Far from a matter of luck: a test that tries a few seeds sees each.
    EXPECT_GE(wrong, kSeeds / 3) << "forgotten wait " << static_cast<int>(omitted);
  }
}

TEST_F(AdversarialDeviceTest, EveryCallMayFailAndTheErrorComesOutOnce) {
  for (const DeviceFault fault :
       {DeviceFault::kOnce, DeviceFault::kFromThereOn, DeviceFault::kLate}) {
    uint64_t call = 1;
    for (bool reached = true; reached; ++call) {
      ASSERT_LT(call, 1000) << "the loop does not end";
      const auto device = Make(call);
      const absl::Status planted = absl::UnavailableError("planted " + std::to_string(call));
      device->FailCall(call, planted, fault);
      const auto arrived = RunPipeline(*device, OmittedWait::kNothing);
      reached = device->calls() >= call;
      if (reached) {
        EXPECT_EQ(arrived.status(), planted) << device->history()[call - 1];
      } else {
        EXPECT_TRUE(Right(arrived));
      }
      EXPECT_EQ(device->used(), 0_B);
    }
    EXPECT_GT(call, 50) << "the chain makes more calls than that";
  }
}

TEST_F(AdversarialDeviceTest, CallsAreCountedAndNamed) {
  const auto device = Make();
  const StreamRef stream = NewStream(*device, "compute");
  EXPECT_TRUE(
      device->Launch(stream, {.name = "forward 3"}, KernelReturning(absl::OkStatus())).ok());
  EXPECT_EQ(device->Allocate(Bytes(1 << 20)).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(device->calls(), 3);
  EXPECT_THAT(device->history(),
              testing::ElementsAre("CreateStream compute", "Launch forward 3", "Allocate 1048576"));
}

TEST_F(AdversarialDeviceTest, WorkWaitsUntilSomebodyAwaitsIt) {
  const auto device = Make();
  const StreamRef stream = NewStream(*device);
  const EventRef event = NewEvent(*device);
  auto calls = std::make_shared<int>(0);
  for (int i = 0; i < 60; ++i) {
    EXPECT_TRUE(device->Launch(stream, {}, KernelReturning(absl::OkStatus(), calls)).ok());
  }
  EXPECT_TRUE(device->Record(stream, event).ok());
  EXPECT_EQ(*calls, 0);
  EXPECT_EQ(device->TimeOf(event).status().code(), absl::StatusCode::kFailedPrecondition)
      << "it has not passed";
  EXPECT_TRUE(device->Await(event).ok());
  EXPECT_EQ(*calls, 60);
  EXPECT_TRUE(device->TimeOf(event).ok());
}

TEST_F(AdversarialDeviceTest, AFullQueueMakesRoomByWorking) {
  const auto device = Make(0, 4);
  const StreamRef stream = NewStream(*device);
  auto calls = std::make_shared<int>(0);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(device->Launch(stream, {}, KernelReturning(absl::OkStatus(), calls)).ok());
    EXPECT_EQ(*calls, std::max(0, i + 1 - 4)) << "as late as possible";
  }
  EXPECT_TRUE(Finish(*device, stream).ok());
  EXPECT_EQ(*calls, 10);
}

// The order in which the kernels of four streams run.
std::vector<int> OrderOf(AdversarialDevice& device) {
  auto order = std::make_shared<std::vector<int>>();
  std::vector<StreamRef> streams;
  streams.reserve(4);
  for (int i = 0; i < 4; ++i) streams.push_back(NewStream(device));
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(device
                    .Launch(streams[i % 4], {},
                            [order, i](const KernelContext&) {
                              order->push_back(i);
                              return absl::OkStatus();
                            })
                    .ok());
  }
  for (const StreamRef stream : streams) EXPECT_TRUE(Finish(device, stream).ok());
  return *order;
}

TEST_F(AdversarialDeviceTest, ASeedIsOneOrderAndSeedsDiffer) {
  std::set<std::vector<int>> orders;
  for (int seed = 0; seed < 50; ++seed) {
    const std::vector<int> order = OrderOf(*Make(seed));
    EXPECT_EQ(order.size(), 12);
    EXPECT_EQ(OrderOf(*Make(seed)), order) << "seed " << seed;
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 25);
}

TEST_F(AdversarialDeviceTest, AStreamCanRunFarAheadAndCanBeLeftBehind) {
  bool ahead = false;
  bool behind = false;
  for (int seed = 0; seed < 50; ++seed) {
    const auto device = Make(seed);
    const StreamRef awaited = NewStream(*device), other = NewStream(*device);
    auto others = std::make_shared<int>(0);
    for (int i = 0; i < 8; ++i) {
      EXPECT_TRUE(device->Launch(awaited, {}, KernelReturning(absl::OkStatus())).ok());
      EXPECT_TRUE(device->Launch(other, {}, KernelReturning(absl::OkStatus(), others)).ok());
    }
    EXPECT_TRUE(Finish(*device, awaited).ok());
    ahead |= *others == 8;
    behind |= *others == 0;
  }
  EXPECT_TRUE(ahead);
  EXPECT_TRUE(behind);
}

TEST_F(AdversarialDeviceTest, FreshAndFreedMemoryIsPoison) {
  const auto device = Make();
  std::byte* data = nullptr;
  {
    const DeviceMemory memory = NewMemory(*device, 1000_B);
    data = memory.data();
    EXPECT_TRUE(IsPoison(data, 1000));
    TestBytes host(*device, 1000_B);
    const StreamRef stream = NewStream(*device);
    EXPECT_TRUE(device->CopyToDevice(stream, data, host.data(), 1000_B).ok());
    EXPECT_TRUE(Finish(*device, stream).ok());
    EXPECT_FALSE(IsPoison(data, 1000));
  }
  EXPECT_TRUE(IsPoison(data, 1000));
}

TEST_F(AdversarialDeviceTest, PoisonIsNotANumberWhereverARangeBegins) {
  for (const size_t begin : {0, 1, 2, 3}) {
    for (const size_t bytes : {0, 1, 3, 4, 5, 31, 32}) {
      std::vector<uint32_t> words(16);
      auto* const data = reinterpret_cast<std::byte*>(words.data());
      Poison(data + begin, bytes);
      EXPECT_TRUE(IsPoison(data + begin, bytes));
      EXPECT_FALSE(IsPoison(data + begin, bytes + 1)) << "one byte more was written";
      for (size_t word = (begin + 3) / 4; word * 4 + 4 <= begin + bytes; ++word) {
        EXPECT_EQ(words[word], kPoison) << begin << " " << bytes;
      }
    }
  }
}

// A copy is queued, then a kernel of another stream looks at its target: it must be possible to
// find the old bytes (not begun), poison (begun) and the new bytes (ended).
TEST_F(AdversarialDeviceTest, ATargetIsPoisonWhileItsCopyIsUnderWay) {
  std::set<std::string> seen;
  for (int seed = 0; seed < 200; ++seed) {
    const auto device = Make(seed);
    TestBytes host(*device, 16_B), zero(*device, 16_B);
    const DeviceMemory memory = NewMemory(*device, 16_B);
    const StreamRef copy = NewStream(*device), look = NewStream(*device);
    EXPECT_TRUE(device->CopyToDevice(copy, memory.data(), zero.data(), 16_B).ok());
    EXPECT_TRUE(Finish(*device, copy).ok());
    host.Fill(1);
    EXPECT_TRUE(device->CopyToHost(copy, host.data(), memory.data(), 16_B).ok());
    auto saw = std::make_shared<std::string>();
    EXPECT_TRUE(device
                    ->Launch(look, {},
                             [&host, saw](const KernelContext&) {
                               *saw = IsPoison(host.data(), 16) ? "poison"
                                      : host[1] == std::byte{0} ? "new"
                                                                : "old";
                               return absl::OkStatus();
                             })
                    .ok());
    EXPECT_TRUE(Finish(*device, look).ok());
    EXPECT_TRUE(Finish(*device, copy).ok());
    EXPECT_EQ(host[1], std::byte{0});
    seen.insert(*saw);
  }
  EXPECT_THAT(seen, testing::ElementsAre("new", "old", "poison"));
}

TEST_F(AdversarialDeviceTest, ASourceIsReadWhenTheCopyEnds) {
  const auto device = Make();
  TestBytes host(*device, 4_B), back(*device, 4_B);
  const DeviceMemory memory = NewMemory(*device, 4_B);
  const StreamRef stream = NewStream(*device);
  host.Fill(1);
  EXPECT_TRUE(device->CopyToDevice(stream, memory.data(), host.data(), 4_B).ok());
  host.Fill(2);  // too early
  EXPECT_TRUE(device->CopyToHost(stream, back.data(), memory.data(), 4_B).ok());
  EXPECT_TRUE(Finish(*device, stream).ok());
  EXPECT_TRUE(back.Equals(host));
}

TEST_F(AdversarialDeviceTest, MemoryGivenBackTooEarlyIsFound) {
  const auto device = Make();
  TestBytes host(*device, 64_B);
  const StreamRef stream = NewStream(*device), second = NewStream(*device);
  {
    const DeviceMemory memory = NewMemory(*device, 64_B);
    EXPECT_TRUE(device->CopyToHost(stream, host.data(), memory.data(), 64_B).ok());
  }
  const DeviceMemory again = NewMemory(*device, 64_B);  // the same place, but not the same piece
  EXPECT_EQ(Finish(*device, stream).code(), absl::StatusCode::kInternal);
  {
    TestBytes gone(*device, 64_B);
    EXPECT_TRUE(device->CopyToHost(second, gone.data(), again.data(), 64_B).ok());
  }
  EXPECT_EQ(Finish(*device, second).code(), absl::StatusCode::kInternal);
}

TEST_F(AdversarialDeviceTest, ALateFaultIsKnownOnlyToTheMarksBehindIt) {
  const auto device = Make();
  const StreamRef stream = NewStream(*device);
  const EventRef before = NewEvent(*device), after = NewEvent(*device);
  auto calls = std::make_shared<int>(0);
  device->FailCall(5, absl::UnavailableError("lost"), DeviceFault::kLate);
  EXPECT_TRUE(device->Record(stream, before).ok());
  EXPECT_TRUE(device->Launch(stream, {}, KernelReturning(absl::OkStatus(), calls)).ok());
  EXPECT_TRUE(device->Record(stream, after).ok());
  EXPECT_TRUE(device->Await(before).ok());
  EXPECT_EQ(device->Await(after), absl::UnavailableError("lost"));
  EXPECT_EQ(*calls, 0);
}

}  // namespace
}  // namespace horizon

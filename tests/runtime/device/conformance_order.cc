// The part of the suite about streams, events and time.
#include <cstring>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "common/host_memory.h"
#include "gmock/gmock.h"
#include "tests/runtime/device/chain.h"
#include "tests/runtime/device/conformance.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_P(DeviceConformance, WorkOfAStreamRunsInTheOrderItWasPut) {
  ForEachSeed([this](Device& device) {
    const StreamRef stream = NewStream(device);
    const DeviceMemory memory = NewMemory(device, 4);
    RegisteredBytes out(device, 4), back(device, 4);
    out.Fill(1);
    auto order = std::make_shared<std::vector<int>>();
    const auto note = [&](int number) {
      return device.Launch(stream, {.name = "note"}, [order, number](const KernelContext&) {
        order->push_back(number);
        return absl::OkStatus();
      });
    };
    std::byte* const first = memory.data();
    EXPECT_TRUE(note(0).ok());
    EXPECT_TRUE(device.CopyToDevice(stream, first, out.data(), 4).ok());
    const Kernel twice = GetParam().double_words(first, first, 1);
    EXPECT_TRUE(device.Launch(stream, {.name = "double"}, twice).ok());
    EXPECT_TRUE(note(1).ok());
    EXPECT_TRUE(device.CopyToHost(stream, back.data(), first, 4).ok());
    for (int number = 2; number < 6; ++number) EXPECT_TRUE(note(number).ok());
    EXPECT_TRUE(Finish(device, stream).ok());
    EXPECT_THAT(*order, ElementsAre(0, 1, 2, 3, 4, 5));
    uint32_t sent = 0, got = 0;
    std::memcpy(&sent, out.data(), sizeof(sent));
    std::memcpy(&got, back.data(), sizeof(got));
    EXPECT_EQ(got, 2 * sent);
  });
}

TEST_P(DeviceConformance, EventsOrderAChainOverThreeStreams) {
  ForEachSeed([this](Device& device) {
    const auto arrived = RunChain(device, Forgotten::kNothing, GetParam().double_words);
    ASSERT_TRUE(arrived.ok()) << arrived.status();
    ASSERT_EQ(arrived->size(), kChainItems);
    for (int item = 0; item < kChainItems; ++item) {
      EXPECT_EQ((*arrived)[item], ChainResult(item)) << "item " << item;
    }
    EXPECT_EQ(device.used(), 0);
  });
}

TEST_P(DeviceConformance, DifferentThreadsFeedDifferentStreams) {
  // A token is handed round three streams, each fed by a thread of its own. A thread learns from
  // the one before that Record was called, as device.h asks.
  static constexpr int kStreams = 3;
  static constexpr int kTurns = 30 * kStreams;
  ForEachSeed([](Device& device) {
    auto token = std::make_shared<int>(0);
    std::vector<StreamRef> streams;
    std::vector<EventRef> events;
    events.reserve(kTurns);
    std::vector<std::unique_ptr<std::counting_semaphore<>>> turns;
    for (int i = 0; i < kStreams; ++i) {
      streams.push_back(NewStream(device));
      turns.push_back(std::make_unique<std::counting_semaphore<>>(0));
    }
    for (int i = 0; i < kTurns; ++i) events.push_back(NewEvent(device));
    turns[0]->release();
    {
      std::vector<std::jthread> threads;
      threads.reserve(kStreams);
      for (int i = 0; i < kStreams; ++i) {
        threads.emplace_back([&, i] {
          for (int turn = i; turn < kTurns; turn += kStreams) {
            turns[i]->acquire();
            if (turn > 0) {
              EXPECT_TRUE(device.Wait(streams[i], events[turn - 1]).ok());
            }
            EXPECT_TRUE(device
                            .Launch(streams[i], {.name = "pass on"},
                                    [token, turn](const KernelContext&) {
                                      if (*token != turn) return absl::InternalError("early");
                                      ++*token;
                                      return absl::OkStatus();
                                    })
                            .ok());
            EXPECT_TRUE(device.Record(streams[i], events[turn]).ok());
            turns[(i + 1) % kStreams]->release();
            if (turn % 7 == 0) {
              EXPECT_TRUE(device.Await(events[turn]).ok());
            }
          }
        });
      }
    }
    const absl::Status last = device.Await(events.back());
    EXPECT_TRUE(last.ok()) << last;
    EXPECT_EQ(*token, kTurns);
  });
}

TEST_P(DeviceConformance, AnEventNeverRecordedIsAMistakeOfTheCaller) {
  const auto device = Make();
  const StreamRef stream = NewStream(*device, "lane-7");
  const EventRef event = NewEvent(*device);
  const absl::Status wait = device->Wait(stream, event);
  EXPECT_EQ(wait.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(wait.message()), HasSubstr("lane-7"));
  EXPECT_EQ(device->Await(event).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(device->TimeOf(event).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Finish(*device, stream).ok()) << "the stream is as it was";
}

TEST_P(DeviceConformance, UnknownStreamsAndEventsAreRefused) {
  const auto device = Make();
  const StreamRef stream = NewStream(*device);
  const EventRef event = NewEvent(*device);
  const auto refused = [](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  };
  for (const int index : {-1, 1, 1000}) {
    const StreamRef no_stream{index};
    const EventRef no_event{index};
    refused(device->CopyToDevice(no_stream, nullptr, nullptr, 0));
    refused(device->CopyToHost(no_stream, nullptr, nullptr, 0));
    refused(device->Launch(no_stream, {}, Returning(absl::OkStatus())));
    refused(device->Record(no_stream, event));
    refused(device->Record(stream, no_event));
    refused(device->Wait(no_stream, event));
    refused(device->Wait(stream, no_event));
    refused(device->Await(no_event));
    refused(device->TimeOf(no_event).status());
  }
  refused(device->Launch(stream, {.name = "nothing"}, nullptr));
  EXPECT_EQ(device->Await(event).code(), absl::StatusCode::kFailedPrecondition)
      << "a refused Record does not mark";
  EXPECT_TRUE(Finish(*device, stream).ok());
}

TEST_P(DeviceConformance, AKernelGetsWorkersAndTheScratchOfItsStream) {
  const absl::StatusOr<HostMemory> scratch =
      HostMemory::Create(2 * kWorkerScratchBytes, {.populate = false});
  ASSERT_TRUE(scratch.ok()) << scratch.status();
  const auto device = Make();
  const auto create = [&](int threads, std::span<std::byte> memory) {
    return device->CreateStream({.name = "s", .threads = threads, .scratch = memory});
  };
  const std::span<std::byte> all = scratch->span();
  EXPECT_EQ(create(0, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(create(1025, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(create(3, all).status().code(), absl::StatusCode::kInvalidArgument) << "too little";
  EXPECT_EQ(create(2, all.first(all.size() - 1)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(create(1, all.subspan(32)).status().code(), absl::StatusCode::kInvalidArgument)
      << "not aligned";
  const absl::StatusOr<StreamRef> stream = create(2, all);
  ASSERT_TRUE(stream.ok()) << stream.status();
  auto seen = std::make_shared<KernelContext>();
  auto pieces = std::make_shared<std::vector<int>>(5);
  EXPECT_TRUE(device
                  ->Launch(*stream, {.name = "look"},
                           [seen, pieces](const KernelContext& context) {
                             *seen = context;
                             context.workers->Run(5, [&](int64_t piece, int worker) {
                               (*pieces)[piece] += 1 + 10 * (worker < context.workers->count());
                             });
                             return absl::OkStatus();
                           })
                  .ok());
  EXPECT_TRUE(Finish(*device, *stream).ok());
  EXPECT_THAT(*pieces, testing::Each(11));
  EXPECT_LE(seen->workers->count(), 2);
  EXPECT_EQ(seen->scratch.data(), all.data());
  EXPECT_EQ(seen->scratch.size(), all.size());
}

TEST_P(DeviceConformance, RecordingAgainChangesLaterCallsOnly) {
  ForEachSeed([](Device& device) {
    const StreamRef producer = NewStream(device), early = NewStream(device),
                    late = NewStream(device);
    const EventRef event = NewEvent(device);
    auto calls = std::make_shared<int>(0);
    EXPECT_TRUE(device.Launch(producer, {}, Returning(absl::OkStatus(), calls)).ok());
    EXPECT_TRUE(device.Record(producer, event).ok());
    EXPECT_TRUE(device.Wait(early, event).ok());
    // What follows spoils the second mark, which `early` does not mean and `late` does.
    const absl::Status broken = absl::DataLossError("broken");
    device.Launch(producer, {}, Returning(broken)).IgnoreError();
    EXPECT_TRUE(device.Record(producer, event).ok());
    device.Wait(late, event).IgnoreError();
    EXPECT_TRUE(Finish(device, early).ok());
    EXPECT_EQ(*calls, 1);
    EXPECT_EQ(Finish(device, late), broken);
    EXPECT_EQ(device.Await(event), broken);
  });
}

TEST_P(DeviceConformance, AnEventCanMoveToAnotherStream) {
  ForEachSeed([](Device& device) {
    const StreamRef bad = NewStream(device), good = NewStream(device);
    const EventRef event = NewEvent(device);
    device.Launch(bad, {}, Returning(absl::AbortedError("bad"))).IgnoreError();
    EXPECT_TRUE(device.Record(bad, event).ok());
    EXPECT_EQ(device.Await(event).code(), absl::StatusCode::kAborted);
    EXPECT_TRUE(device.Record(good, event).ok());
    EXPECT_TRUE(device.Await(event).ok());
    EXPECT_TRUE(device.TimeOf(event).ok());
  });
}

TEST_P(DeviceConformance, TimesGoTheWayTheEventsGo) {
  ForEachSeed([this](Device& device) {
    const StreamRef first = NewStream(device), second = NewStream(device);
    const EventRef begin = NewEvent(device), middle = NewEvent(device), end = NewEvent(device);
    const auto take = [this](Nanoseconds time) -> Kernel {
      return [this, time](const KernelContext&) {
        clock_.SleepFor(time);
        return absl::OkStatus();
      };
    };
    EXPECT_TRUE(device.Record(first, begin).ok());
    EXPECT_TRUE(device.Launch(first, {.name = "7"}, take(Nanoseconds(7))).ok());
    EXPECT_TRUE(device.Record(first, middle).ok());
    EXPECT_TRUE(device.Wait(second, middle).ok());
    EXPECT_TRUE(device.Launch(second, {.name = "5"}, take(Nanoseconds(5))).ok());
    EXPECT_TRUE(device.Record(second, end).ok());
    ASSERT_TRUE(device.Await(end).ok());
    ASSERT_TRUE(device.Await(middle).ok());
    const Nanoseconds seven = *device.TimeOf(middle) - *device.TimeOf(begin);
    const Nanoseconds five = *device.TimeOf(end) - *device.TimeOf(middle);
    if (GetParam().kernels_take_the_clocks_time) {
      EXPECT_EQ(seven, Nanoseconds(7));
      EXPECT_EQ(five, Nanoseconds(5));
    } else {
      EXPECT_GE(seven, Nanoseconds(0));
      EXPECT_GE(five, Nanoseconds(0));
    }
  });
}

}  // namespace
}  // namespace horizon

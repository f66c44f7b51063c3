// The part of the suite about streams, events and time.
#include <cstdint>
#include <cstring>
#include <memory>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/host_memory.h"
#include "common/kernel_context.h"
#include "selftest/conformance/check_devices.h"
#include "selftest/conformance/conformance_parts.h"
#include "selftest/conformance/pipeline.h"
#include "selftest/conformance/shorthand.h"
#include "selftest/findings.h"

namespace horizon {
namespace {

void WorkOfAStreamRunsInTheOrderItWasPut(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  devices.ForEachSeed([&](Device& device) {
    const StreamRef stream = NewStream(device, findings);
    const DeviceMemory memory = NewMemory(device, findings, 4_B);
    REQUIRE_EQ(findings, memory.size(), sizeof(uint32_t));
    RegisteredBytes out(device, findings, 4_B), back(device, findings, 4_B);
    out.Fill(1);
    auto order = std::make_shared<std::vector<int>>();
    const auto note = [&](int number) {
      return device.Launch(stream, {.name = "note"}, [order, number](const KernelContext&) {
        order->push_back(number);
        return absl::OkStatus();
      });
    };
    std::byte* const first = memory.data();
    VERIFY_OK(findings, note(0));
    VERIFY_OK(findings, device.CopyToDevice(stream, first, out.data(), 4_B));
    const KernelCall twice = factory.double_words(first, first, 1);
    VERIFY_OK(findings, device.Launch(stream, {.name = "double"}, twice));
    VERIFY_OK(findings, note(1));
    VERIFY_OK(findings, device.CopyToHost(stream, back.data(), first, 4_B));
    for (int number = 2; number < 6; ++number) VERIFY_OK(findings, note(number));
    VERIFY_OK(findings, Finish(device, findings, stream));
    VERIFY(findings, *order == std::vector<int>({0, 1, 2, 3, 4, 5}));
    uint32_t sent = 0, got = 0;
    std::memcpy(&sent, out.data(), sizeof(sent));
    std::memcpy(&got, back.data(), sizeof(got));
    VERIFY_EQ(findings, got, 2 * sent);
  });
}

void EventsOrderAChainOverThreeStreams(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  devices.ForEachSeed([&](Device& device) {
    const auto arrived = RunPipeline(device, OmittedWait::kNothing, factory.double_words);
    REQUIRE_OK(findings, arrived);
    REQUIRE_EQ(findings, arrived->size(), size_t{kPipelineItems});
    for (int item = 0; item < kPipelineItems; ++item) {
      VERIFY_EQ(findings, (*arrived)[item], PipelineResult(item)) << "item " << item;
    }
    VERIFY_EQ(findings, device.used(), 0_B);
  });
}

void DifferentThreadsFeedDifferentStreams(const DeviceFactory& factory, Findings& findings) {
  // A token is handed round three streams, each fed by a thread of its own. A thread learns from
  // the one before that Record was called, as device.h asks.
  static constexpr int kStreams = 3;
  static constexpr int kTurns = 30 * kStreams;
  CheckDevices devices(factory, findings);
  devices.ForEachSeed([&](Device& device) {
    auto token = std::make_shared<int>(0);
    std::vector<StreamRef> streams;
    std::vector<EventRef> events;
    events.reserve(kTurns);
    std::vector<std::unique_ptr<std::counting_semaphore<>>> turns;
    for (int i = 0; i < kStreams; ++i) {
      streams.push_back(NewStream(device, findings));
      turns.push_back(std::make_unique<std::counting_semaphore<>>(0));
    }
    for (int i = 0; i < kTurns; ++i) events.push_back(NewEvent(device, findings));
    turns[0]->release();
    {
      std::vector<std::jthread> threads;
      threads.reserve(kStreams);
      for (int i = 0; i < kStreams; ++i) {
        threads.emplace_back([&, i] {
          for (int turn = i; turn < kTurns; turn += kStreams) {
            turns[i]->acquire();
            if (turn > 0) {
              VERIFY_OK(findings, device.Wait(streams[i], events[turn - 1]));
            }
            const KernelCall pass_on = [token, turn](const KernelContext&) {
              if (*token != turn) return absl::InternalError("early");
              ++*token;
              return absl::OkStatus();
            };
            VERIFY_OK(findings, device.Launch(streams[i], {.name = "pass on"}, pass_on));
            VERIFY_OK(findings, device.Record(streams[i], events[turn]));
            turns[(i + 1) % kStreams]->release();
            if (turn % 7 == 0) {
              VERIFY_OK(findings, device.Await(events[turn]));
            }
          }
        });
      }
    }
    VERIFY_OK(findings, device.Await(events.back()));
    VERIFY_EQ(findings, *token, kTurns);
  });
}

void AnEventNeverRecordedIsAMistakeOfTheCaller(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  const auto device = devices.Make();
  REQUIRE(findings, device != nullptr);
  const StreamRef stream = NewStream(*device, findings, "lane-7");
  const EventRef event = NewEvent(*device, findings);
  const absl::Status wait = device->Wait(stream, event);
  VERIFY_EQ(findings, wait.code(), absl::StatusCode::kFailedPrecondition);
  VERIFY(findings, MessageContains(wait, "lane-7")) << wait;
  VERIFY_EQ(findings, device->Await(event).code(), absl::StatusCode::kFailedPrecondition);
  VERIFY_EQ(findings, device->TimeOf(event).status().code(), absl::StatusCode::kFailedPrecondition);
  VERIFY_OK(findings, Finish(*device, findings, stream)) << "the stream is as it was";
}

void UnknownStreamsAndEventsAreRefused(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  const auto device = devices.Make();
  REQUIRE(findings, device != nullptr);
  const StreamRef stream = NewStream(*device, findings);
  const EventRef event = NewEvent(*device, findings);
  const auto refused = [&](const absl::Status& status) {
    VERIFY_EQ(findings, status.code(), absl::StatusCode::kInvalidArgument) << status;
  };
  for (const int index : {-1, 1, 1000}) {
    const StreamRef no_stream{index};
    const EventRef no_event{index};
    refused(device->CopyToDevice(no_stream, nullptr, nullptr, 0_B));
    refused(device->CopyToHost(no_stream, nullptr, nullptr, 0_B));
    refused(device->Launch(no_stream, {}, KernelReturning(absl::OkStatus())));
    refused(device->Record(no_stream, event));
    refused(device->Record(stream, no_event));
    refused(device->Wait(no_stream, event));
    refused(device->Wait(stream, no_event));
    refused(device->Await(no_event));
    refused(device->TimeOf(no_event).status());
  }
  refused(device->Launch(stream, {.name = "nothing"}, nullptr));
  VERIFY_EQ(findings, device->Await(event).code(), absl::StatusCode::kFailedPrecondition)
      << "a refused Record does not mark";
  VERIFY_OK(findings, Finish(*device, findings, stream));
}

void AKernelGetsWorkersAndTheScratchOfItsStream(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  const absl::StatusOr<HostMemory> scratch =
      HostMemory::Create(2 * Bytes(kWorkerScratchBytes), {.populate = false});
  REQUIRE_OK(findings, scratch);
  const auto device = devices.Make();
  REQUIRE(findings, device != nullptr);
  const auto create = [&](int threads, std::span<std::byte> memory) {
    return device->CreateStream({.name = "s", .threads = threads, .scratch = memory});
  };
  const std::span<std::byte> all = scratch->span();
  VERIFY_EQ(findings, create(0, {}).status().code(), absl::StatusCode::kInvalidArgument);
  VERIFY_EQ(findings, create(1025, {}).status().code(), absl::StatusCode::kInvalidArgument);
  VERIFY_EQ(findings, create(3, all).status().code(), absl::StatusCode::kInvalidArgument)
      << "too little";
  VERIFY_EQ(findings, create(2, all.first(all.size() - 1)).status().code(),
            absl::StatusCode::kInvalidArgument);
  VERIFY_EQ(findings, create(1, all.subspan(32)).status().code(),
            absl::StatusCode::kInvalidArgument)
      << "not aligned";
  const absl::StatusOr<StreamRef> stream = create(2, all);
  REQUIRE_OK(findings, stream);
  auto seen = std::make_shared<KernelContext>();
  auto pieces = std::make_shared<std::vector<int>>(5);
  const KernelCall look = [seen, pieces](const KernelContext& context) {
    *seen = context;
    context.workers->Run(5, [&](int64_t piece, int worker) {
      (*pieces)[piece] += 1 + 10 * (worker < context.workers->count());
    });
    return absl::OkStatus();
  };
  VERIFY_OK(findings, device->Launch(*stream, {.name = "look"}, look));
  VERIFY_OK(findings, Finish(*device, findings, *stream));
  VERIFY(findings, *pieces == std::vector<int>(5, 11));
  REQUIRE(findings, seen->workers != nullptr);
  VERIFY(findings, seen->workers->count() <= 2) << seen->workers->count();
  VERIFY_EQ(findings, seen->scratch.data(), all.data());
  VERIFY_EQ(findings, seen->scratch.size(), all.size());
}

void RecordingAgainChangesLaterCallsOnly(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  devices.ForEachSeed([&](Device& device) {
    const StreamRef producer = NewStream(device, findings), early = NewStream(device, findings),
                    late = NewStream(device, findings);
    const EventRef event = NewEvent(device, findings);
    auto calls = std::make_shared<int>(0);
    VERIFY_OK(findings, device.Launch(producer, {}, KernelReturning(absl::OkStatus(), calls)));
    VERIFY_OK(findings, device.Record(producer, event));
    VERIFY_OK(findings, device.Wait(early, event));
    // What follows spoils the second mark, which `early` does not mean and `late` does.
    const absl::Status broken = absl::DataLossError("broken");
    device.Launch(producer, {}, KernelReturning(broken)).IgnoreError();
    VERIFY_OK(findings, device.Record(producer, event));
    device.Wait(late, event).IgnoreError();
    VERIFY_OK(findings, Finish(device, findings, early));
    VERIFY_EQ(findings, *calls, 1);
    VERIFY_EQ(findings, Finish(device, findings, late), broken);
    VERIFY_EQ(findings, device.Await(event), broken);
  });
}

void AnEventCanMoveToAnotherStream(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  devices.ForEachSeed([&](Device& device) {
    const StreamRef bad = NewStream(device, findings), good = NewStream(device, findings);
    const EventRef event = NewEvent(device, findings);
    device.Launch(bad, {}, KernelReturning(absl::AbortedError("bad"))).IgnoreError();
    VERIFY_OK(findings, device.Record(bad, event));
    VERIFY_EQ(findings, device.Await(event).code(), absl::StatusCode::kAborted);
    VERIFY_OK(findings, device.Record(good, event));
    VERIFY_OK(findings, device.Await(event));
    VERIFY_OK(findings, device.TimeOf(event));
  });
}

void TimesGoTheWayTheEventsGo(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  devices.ForEachSeed([&](Device& device) {
    const StreamRef first = NewStream(device, findings), second = NewStream(device, findings);
    const EventRef begin = NewEvent(device, findings), middle = NewEvent(device, findings),
                   end = NewEvent(device, findings);
    const auto take = [&](Nanoseconds time) -> KernelCall {
      return [&clock = devices.clock(), time](const KernelContext&) {
        clock.SleepFor(time);
        return absl::OkStatus();
      };
    };
    VERIFY_OK(findings, device.Record(first, begin));
    VERIFY_OK(findings, device.Launch(first, {.name = "7"}, take(Nanoseconds(7))));
    VERIFY_OK(findings, device.Record(first, middle));
    VERIFY_OK(findings, device.Wait(second, middle));
    VERIFY_OK(findings, device.Launch(second, {.name = "5"}, take(Nanoseconds(5))));
    VERIFY_OK(findings, device.Record(second, end));
    REQUIRE_OK(findings, device.Await(end));
    REQUIRE_OK(findings, device.Await(middle));
    const auto began = device.TimeOf(begin), passed = device.TimeOf(middle),
               ended = device.TimeOf(end);
    for (const auto& time : {began, passed, ended}) REQUIRE_OK(findings, time);
    const int64_t seven = (*passed - *began).count();
    const int64_t five = (*ended - *passed).count();
    if (factory.device_time_is_clock_time) {
      VERIFY_EQ(findings, seven, 7);
      VERIFY_EQ(findings, five, 5);
    } else {
      VERIFY(findings, seven >= 0) << seven << " ns";
      VERIFY(findings, five >= 0) << five << " ns";
    }
  });
}

}  // namespace

std::span<const ConformanceCheck> OrderChecks() {
  static constexpr ConformanceCheck kChecks[] = {
      {"WorkOfAStreamRunsInTheOrderItWasPut", WorkOfAStreamRunsInTheOrderItWasPut},
      {"EventsOrderAChainOverThreeStreams", EventsOrderAChainOverThreeStreams},
      {"DifferentThreadsFeedDifferentStreams", DifferentThreadsFeedDifferentStreams},
      {"AnEventNeverRecordedIsAMistakeOfTheCaller", AnEventNeverRecordedIsAMistakeOfTheCaller},
      {"UnknownStreamsAndEventsAreRefused", UnknownStreamsAndEventsAreRefused},
      {"AKernelGetsWorkersAndTheScratchOfItsStream", AKernelGetsWorkersAndTheScratchOfItsStream},
      {"RecordingAgainChangesLaterCallsOnly", RecordingAgainChangesLaterCallsOnly},
      {"AnEventCanMoveToAnotherStream", AnEventCanMoveToAnotherStream},
      {"TimesGoTheWayTheEventsGo", TimesGoTheWayTheEventsGo},
  };
  return kChecks;
}

}  // namespace horizon

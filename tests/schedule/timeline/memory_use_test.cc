// How full the memories are over a timeline: by hand, and within the layout for every plan.
#include "schedule/timeline/memory_use.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "schedule/build/build_schedule.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

Access Reads(BufferId buffer) { return {.buffer = buffer, .mode = AccessMode::kRead}; }
Access Writes(BufferId buffer) { return {.buffer = buffer, .mode = AccessMode::kWrite}; }

// Operations of one lane, each `bytes` nanoseconds long, so that times add up in the head.
Schedule OneLane(const std::vector<std::pair<uint64_t, std::vector<Access>>>& operations) {
  Schedule schedule;
  for (const auto& [bytes, accesses] : operations) {
    Operation operation{.bytes = Bytes(bytes)};
    Phase& phase = schedule.first;
    operation.accesses.begin = static_cast<uint32_t>(phase.access_pool.size());
    phase.access_pool.insert(phase.access_pool.end(), accesses.begin(), accesses.end());
    operation.accesses.end = static_cast<uint32_t>(phase.access_pool.size());
    phase.operations.push_back(operation);
  }
  return schedule;
}

Timeline TimelineOf(const Schedule& schedule) {
  return EarliestTimeline(schedule, {StepKind::kFirst}, [](const Operation& operation) {
    return static_cast<int64_t>(operation.bytes.value());
  });
}

// "0: 100/0/0, 5: ...": device, pinned and host bytes from each time on.
std::string Picture(const Schedule& schedule) {
  std::string text;
  for (const MemoryChange& change : MemoryOverTime(schedule, TimelineOf(schedule))) {
    text += StrCat(text.empty() ? "" : ", ", change.time_ns, ": ", change.bytes[0].value(), "/",
                   change.bytes[1].value(), "/", change.bytes[2].value());
  }
  return text;
}

TEST(MemoryOverTime, ABufferCountsFromItsFillingToItsLastReader) {
  Schedule schedule = OneLane({{3, {Reads(0), Writes(1)}},  // 0-3
                               {4, {}},                     // 3-7
                               {5, {Reads(1), Writes(2)}},  // 7-12
                               {2, {Reads(0)}}});           // 12-14
  schedule.memory.buffers = {{.memory = Memory::kHost, .bytes = 100_B},
                             {.memory = Memory::kDevice, .bytes = 20_B},
                             {.memory = Memory::kPinned, .bytes = 7_B}};
  schedule.initial = {Reads(0)};
  // The host buffer was there before and stays; nobody reads the pinned one after its writer.
  EXPECT_EQ(Picture(schedule), "0: 20/0/100, 7: 20/7/100, 12: 0/0/100");
}

// Filled twice: between the last reader of the first content and the second filling it is free.
TEST(MemoryOverTime, EveryContentHasItsOwnSpan) {
  Schedule schedule =
      OneLane({{1, {Writes(0)}}, {1, {Reads(0)}}, {5, {}}, {1, {Writes(0)}}, {1, {Reads(0)}}});
  schedule.memory.buffers = {{.memory = Memory::kDevice, .bytes = 64_B}};
  EXPECT_EQ(Picture(schedule), "0: 64/0/0, 2: 0/0/0, 7: 64/0/0, 9: 0/0/0");
}

// Adding to a sum does not fill it anew: it lives from the first part to the last reader.
TEST(MemoryOverTime, ReadingAndWritingKeepsTheContent) {
  Schedule schedule = OneLane({{1, {Writes(0)}},
                               {3, {}},
                               {1, {Reads(0), Writes(0)}},
                               {2, {}},
                               {1, {Writes(0), Reads(0)}},
                               {1, {}}});
  schedule.memory.buffers = {{.memory = Memory::kDevice, .bytes = 64_B}};
  EXPECT_EQ(Picture(schedule), "0: 64/0/0, 8: 0/0/0");
}

TEST(MemoryOverTime, RefillingWithoutAGapIsNoChange) {
  Schedule schedule = OneLane({{1, {Writes(0)}}, {1, {Writes(0)}}});
  schedule.memory.buffers = {{.memory = Memory::kDevice, .bytes = 64_B}};
  const std::vector<MemoryChange> changes = MemoryOverTime(schedule, TimelineOf(schedule));
  Bytes most;
  for (const MemoryChange& change : changes) most = std::max(most, change.bytes[0]);
  EXPECT_EQ(most, 64_B);  // never counted twice
  EXPECT_EQ(changes.back().time_ns, 2);
  EXPECT_EQ(changes.back().bytes[0], 0_B);
}

// What lasts counts once however often it is written.
TEST(MemoryOverTime, OverwritingWhatLastsIsNoChange) {
  Schedule schedule = OneLane({{1, {Writes(0)}}, {1, {}}, {1, {Writes(0)}}});
  schedule.memory.buffers = {{.memory = Memory::kHost, .bytes = 100_B}};
  schedule.initial = {Reads(0)};
  EXPECT_EQ(Picture(schedule), "0: 0/0/100");
}

TEST(MemoryOverTime, NothingIsNoChange) { EXPECT_TRUE(MemoryOverTime({}, {}).empty()); }

RC_GTEST_PROP(MemoryOverTime, StaysWithinTheLayoutAndEndsWithWhatLasts, ()) {
  const RandomCase random = *RandomAnyCase();
  const absl::StatusOr<Schedule> schedule =
      BuildSchedule(random.spec, random.job, random.plan, PassKind::kTrain);
  if (!schedule.ok()) RC_DISCARD("impossible plan");
  const int64_t steps = *rc::gen::inRange(1, 4);
  const Timeline timeline =
      EarliestTimeline(*schedule, StepsOf(*schedule, steps), NominalNanoseconds);
  MemoryTotals lasting{};
  for (const Access& access : schedule->initial) {
    const Buffer& buffer = schedule->memory.buffers[access.buffer];
    lasting[static_cast<size_t>(buffer.memory)] += buffer.bytes;
  }
  const std::vector<MemoryChange> changes = MemoryOverTime(*schedule, timeline);
  RC_ASSERT(!changes.empty() && changes.front().time_ns == 0);
  for (size_t i = 0; i < changes.size(); ++i) {
    const int64_t before = i == 0 ? -1 : changes[i - 1].time_ns;
    RC_ASSERT(changes[i].time_ns > before);
    for (size_t m = 0; m < kMemoryCount; ++m) {
      RC_ASSERT(changes[i].bytes[m] <= schedule->memory.totals[m]);
      RC_ASSERT(changes[i].bytes[m] >= lasting[m]);
    }
  }
  RC_ASSERT(changes.back().time_ns <= timeline.end_ns());
  RC_ASSERT(changes.back().bytes == lasting);
}

}  // namespace
}  // namespace horizon

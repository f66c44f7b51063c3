// Which waits follow from what operations touch. Each case is small enough to see the answer.
#include "schedule/build/phase_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr Lane kH2d = Lane::kH2d, kCompute = Lane::kCompute, kD2h = Lane::kD2h, kHost = Lane::kHost;

Access Reads(BufferId buffer) { return {.buffer = buffer, .mode = AccessMode::kRead}; }
Access Writes(BufferId buffer) { return {.buffer = buffer, .mode = AccessMode::kWrite}; }

int64_t Add(PhaseWriter& writer, Lane lane, const std::vector<Access>& accesses,
            const std::vector<int64_t>& after = {}) {
  return writer.Append({.lane = lane}, accesses, after);
}

// The waits of an operation: "0 2", one of the step before as "<1".
std::string WaitsOf(const Phase& phase, size_t operation) {
  std::string text;
  for (const Wait& wait : phase.WaitsOf(phase.operations[operation])) {
    text += StrCat(text.empty() ? "" : " ", wait.previous_step ? "<" : "", wait.operation);
  }
  return text;
}

struct Step {
  Lane lane;
  std::vector<Access> accesses;
};

Phase Write(const std::vector<Step>& steps) {
  PhaseWriter writer(16);
  writer.BeginPhase();
  for (const Step& step : steps) Add(writer, step.lane, step.accesses);
  return writer.EndPhase();
}

TEST(PhaseWriter, AReaderWaitsForTheWriter) {
  const Phase phase = Write({{kH2d, {Writes(0)}}, {kCompute, {Reads(0)}}});
  EXPECT_EQ(WaitsOf(phase, 0), "");
  EXPECT_EQ(WaitsOf(phase, 1), "0");
}

TEST(PhaseWriter, AWriterWaitsForTheReadersOfBothLanes) {
  const Phase phase =
      Write({{kH2d, {Writes(0)}}, {kCompute, {Reads(0)}}, {kD2h, {Reads(0)}}, {kH2d, {Writes(0)}}});
  EXPECT_EQ(WaitsOf(phase, 1), "0");
  EXPECT_EQ(WaitsOf(phase, 2), "0");
  EXPECT_EQ(WaitsOf(phase, 3), "1 2");
}

TEST(PhaseWriter, OfOneLaneOnlyTheLastReaderIsAwaited) {
  const Phase phase = Write(
      {{kH2d, {Writes(0)}}, {kCompute, {Reads(0)}}, {kCompute, {Reads(0)}}, {kH2d, {Writes(0)}}});
  EXPECT_EQ(WaitsOf(phase, 2), "");  // its lane has waited already
  EXPECT_EQ(WaitsOf(phase, 3), "2");
}

TEST(PhaseWriter, AWriterWaitsForTheWriterBefore) {
  const Phase phase = Write({{kH2d, {Writes(0)}}, {kCompute, {Writes(0)}}, {kD2h, {Writes(0)}}});
  EXPECT_EQ(WaitsOf(phase, 1), "0");
  EXPECT_EQ(WaitsOf(phase, 2), "1");  // 0 ended before 1 began
}

TEST(PhaseWriter, ReadersDoNotWaitForEachOther) {
  const Phase phase = Write({{kCompute, {Reads(0)}}, {kD2h, {Reads(0)}}, {kH2d, {Reads(0)}}});
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(WaitsOf(phase, i), "") << i;
}

TEST(PhaseWriter, OtherBuffersDoNotMatter) {
  const Phase phase = Write({{kH2d, {Writes(0)}}, {kCompute, {Writes(1)}}, {kD2h, {Reads(2)}}});
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(WaitsOf(phase, i), "") << i;
}

TEST(PhaseWriter, AReaderOfOldContentIsNotAwaitedAgain) {
  const Phase phase = Write({{kCompute, {Reads(0)}},
                             {kH2d, {Writes(0)}},     // waits for 0
                             {kD2h, {Reads(0)}},      // waits for 1
                             {kHost, {Writes(0)}}});  // waits for 2, which waited for all
  EXPECT_EQ(WaitsOf(phase, 1), "0");
  EXPECT_EQ(WaitsOf(phase, 2), "1");
  EXPECT_EQ(WaitsOf(phase, 3), "2");
}

TEST(PhaseWriter, WhatAnotherWaitImpliesIsLeftOut) {
  const Phase phase =
      Write({{kH2d, {Writes(0)}}, {kCompute, {Reads(0), Writes(1)}}, {kD2h, {Reads(0), Reads(1)}}});
  EXPECT_EQ(WaitsOf(phase, 2), "1");
}

TEST(PhaseWriter, WhatTheLaneHasWaitedForIsLeftOut) {
  const Phase phase = Write(
      {{kH2d, {Writes(0)}}, {kH2d, {Writes(1)}}, {kCompute, {Reads(1)}}, {kCompute, {Reads(0)}}});
  EXPECT_EQ(WaitsOf(phase, 2), "1");
  EXPECT_EQ(WaitsOf(phase, 3), "");  // 0 ended before 1 began
}

TEST(PhaseWriter, AnOperationDoesNotWaitForItself) {
  const Phase phase = Write(
      {{kCompute, {Reads(0), Writes(0)}}, {kHost, {Writes(0), Reads(0)}}, {kD2h, {Reads(0)}}});
  EXPECT_EQ(WaitsOf(phase, 0), "");
  EXPECT_EQ(WaitsOf(phase, 1), "0");
  EXPECT_EQ(WaitsOf(phase, 2), "1");
}

TEST(PhaseWriter, FurtherOperationsAreAwaitedOnRequest) {
  PhaseWriter writer(1);
  writer.BeginPhase();
  const int64_t first = Add(writer, kCompute, {});
  const int64_t second = Add(writer, kCompute, {});
  Add(writer, kH2d, {}, {first, second});
  Add(writer, kH2d, {}, {first, -1});  // -1: nothing to wait for
  const Phase phase = writer.EndPhase();
  EXPECT_EQ(WaitsOf(phase, 2), "1");
  EXPECT_EQ(WaitsOf(phase, 3), "");
}

TEST(PhaseWriter, KeepsOperationsAndAccessesAsGiven) {
  PhaseWriter writer(4);
  writer.BeginPhase();
  const Access access{.buffer = 3,
                      .mode = AccessMode::kRead,
                      .age = 1,
                      .content = {.kind = ContentKind::kWeights, .a = 7}};
  writer.Append({.kind = OperationKind::kAdam, .lane = Lane::kOptimizer, .chunk = 7, .bytes = 99_B},
                std::vector<Access>{access, Writes(1)});
  const Phase phase = writer.EndPhase();
  ASSERT_EQ(phase.operations.size(), 1u);
  const Operation& operation = phase.operations[0];
  EXPECT_EQ(operation.kind, OperationKind::kAdam);
  EXPECT_EQ(operation.lane, Lane::kOptimizer);
  EXPECT_EQ(operation.chunk, 7);
  EXPECT_EQ(operation.bytes, 99_B);
  ASSERT_EQ(phase.AccessesOf(operation).size(), 2u);
  EXPECT_EQ(phase.AccessesOf(operation)[0].buffer, 3);
  EXPECT_EQ(phase.AccessesOf(operation)[0].age, 1);
  EXPECT_EQ(phase.AccessesOf(operation)[0].content, access.content);
  EXPECT_EQ(phase.AccessesOf(operation)[1].mode, AccessMode::kWrite);
}

// Waits on the step before count from the begin of its body; in a step with a prologue, waits
// within the step count from its first operation.
TEST(PhaseWriter, TheStepBeforeIsCountedFromItsBody) {
  PhaseWriter writer(4);
  writer.BeginPhase();
  Add(writer, kHost, {Reads(3)});  // prologue, 0
  writer.BeginBody();
  Add(writer, kH2d, {Writes(0)});     // body 0
  Add(writer, kCompute, {Reads(0)});  // body 1
  const Phase first = writer.EndPhase();
  EXPECT_EQ(first.body_begin, 1);
  EXPECT_EQ(WaitsOf(first, 2), "1");  // within the step: the prologue counts

  writer.BeginPhase();
  Add(writer, kHost, {Writes(0)});  // prologue: after the reader of the step before
  Add(writer, kHost, {Reads(1)});
  writer.BeginBody();
  Add(writer, kH2d, {Writes(0)});
  Add(writer, kCompute, {Reads(0)});
  const Phase steady = writer.EndPhase();
  EXPECT_EQ(steady.body_begin, 2);
  EXPECT_EQ(WaitsOf(steady, 0), "<1");
  EXPECT_EQ(WaitsOf(steady, 1), "");
  EXPECT_EQ(WaitsOf(steady, 2), "0");
  EXPECT_EQ(WaitsOf(steady, 3), "2");
}

TEST(PhaseWriter, AfterMayNameTheStepBefore) {
  PhaseWriter writer(1);
  writer.BeginPhase();
  writer.BeginBody();
  Add(writer, kHost, {});
  const int64_t last = Add(writer, kCompute, {});
  writer.EndPhase();
  writer.BeginPhase();
  Add(writer, kH2d, {}, {last});
  EXPECT_EQ(WaitsOf(writer.EndPhase(), 0), "<1");
}

TEST(PhaseWriterDeathTest, AWaitTwoStepsBackIsABugOfTheBuilder) {
  PhaseWriter writer(1);
  writer.BeginPhase();
  Add(writer, kH2d, {Writes(0)});
  writer.EndPhase();
  writer.BeginPhase();
  Add(writer, kHost, {});
  writer.EndPhase();
  writer.BeginPhase();
  EXPECT_DEATH(Add(writer, kCompute, {Reads(0)}), "internal error");
}

// Which operations have ended when each one starts, from lane order and waits alone; `skip` leaves
// one wait out.
std::vector<std::vector<char>> EndedBefore(const Phase& phase, size_t skip) {
  const size_t count = phase.operations.size();
  std::vector<std::vector<char>> ended(count, std::vector<char>(count, 0));
  const auto include = [&](size_t of, size_t other) {
    ended[of][other] = 1;
    for (size_t i = 0; i < count; ++i) ended[of][i] = ended[of][i] || ended[other][i] ? 1 : 0;
  };
  for (size_t i = 0; i < count; ++i) {
    const Operation& operation = phase.operations[i];
    for (size_t j = 0; j < i; ++j) {
      if (phase.operations[j].lane == operation.lane) include(i, j);
    }
    for (uint32_t w = operation.waits.begin; w < operation.waits.end; ++w) {
      if (w != skip) include(i, static_cast<size_t>(phase.wait_pool[w].operation));
    }
  }
  return ended;
}

// Two operations touch a buffer and one of them writes it.
bool Conflict(const Phase& phase, size_t a, size_t b) {
  for (const Access& one : phase.AccessesOf(phase.operations[a])) {
    for (const Access& other : phase.AccessesOf(phase.operations[b])) {
      const bool writes = one.mode == AccessMode::kWrite || other.mode == AccessMode::kWrite;
      if (one.buffer == other.buffer && writes) return true;
    }
  }
  return false;
}

bool AllOrdered(const Phase& phase, size_t skip) {
  const std::vector<std::vector<char>> ended = EndedBefore(phase, skip);
  for (size_t i = 0; i < phase.operations.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (Conflict(phase, j, i) && !ended[i][j]) return false;
    }
  }
  return true;
}

RC_GTEST_PROP(PhaseWriter, WaitsAreEnoughAndNoneIsTooMany, ()) {
  std::vector<Step> steps(*rc::gen::inRange(1, 25));
  for (Step& step : steps) {
    step.lane = *rc::gen::element(kH2d, kCompute, kD2h, kHost);
    step.accesses.resize(*rc::gen::inRange(0, 4));
    for (Access& access : step.accesses) {
      access = {.buffer = *rc::gen::inRange(0, 5),
                .mode = *rc::gen::element(AccessMode::kRead, AccessMode::kWrite)};
    }
  }
  const Phase phase = Write(steps);
  constexpr size_t kNone = SIZE_MAX;
  RC_ASSERT(AllOrdered(phase, kNone));
  for (size_t wait = 0; wait < phase.wait_pool.size(); ++wait) RC_ASSERT(!AllOrdered(phase, wait));
}

}  // namespace
}  // namespace horizon

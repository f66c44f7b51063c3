// K2: what a power cut at any moment leaves of two saves with their prunes. And the bugs this test
// must find: an Io that forgets to sync.
#include "tests/common/files/power_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "tests/common/files/memory_io.h"
#include "tests/runtime/checkpoint/durability.h"
#include "tests/runtime/checkpoint/forgetful_io.h"
#include "tests/runtime/checkpoint/saved_run.h"

namespace horizon {
namespace {

using Names = PowerCut::Names;
using Writes = PowerCut::Writes;

// Records saves of steps 3 and 4, by an Io that may forget, to a disk that durably holds 1 and 2.
void Record(MemoryIo& disk, const CheckpointLayout& layout, Forgets forgets) {
  ASSERT_TRUE(MakeRun(disk, "/run", layout, {1, 2}).ok());
  disk.Settle();
  ForgetfulIo io(disk, forgets);
  for (const int64_t step : {3, 4}) {
    const absl::Status saved = SaveAndPrune(io, "/run", layout, step);
    ASSERT_TRUE(saved.ok()) << saved;
    disk.Mark(StrCat(step));
  }
}

// The highest step that a save had reported as done by then.
int64_t NewestDone(const MemoryIo& disk, size_t changes) {
  int64_t newest = 2;
  for (size_t i = 0; i < changes; ++i) {
    const MemoryChange& change = disk.changes()[i];
    int64_t step = 0;
    if (change.kind == MemoryChange::Kind::kMark && absl::SimpleAtoi(change.name, &step)) {
      newest = std::max(newest, step);
    }
  }
  return newest;
}

struct Outcome {
  int states = 0;
  int bad = 0;
  std::string first_problem;
};

enum class Search { kAll, kFirstProblem };

Outcome CutEverywhere(const MemoryIo& disk, const CheckpointLayout& layout, uint64_t seeds,
                      size_t stride, Search search = Search::kAll) {
  Outcome outcome;
  for (size_t changes = 0; changes <= disk.changes().size(); changes += stride) {
    const int64_t newest = NewestDone(disk, changes);
    for (const Writes writes :
         {Writes::kAll, Writes::kNone, Writes::kSome, Writes::kTorn, Writes::kZeros}) {
      for (const Names names : {Names::kKept, Names::kLost, Names::kSome}) {
        const bool is_random =
            writes == Writes::kSome || writes == Writes::kTorn || names == Names::kSome;
        for (uint64_t seed = 0; seed < (is_random ? seeds : 1); ++seed) {
          const PowerCut cut{.changes = changes, .writes = writes, .names = names, .seed = seed};
          MemoryIo after(AfterPowerCut(disk, cut));
          const std::string problem = ProblemOfRun(after, "/run", layout, newest);
          ++outcome.states;
          if (problem.empty()) continue;
          ++outcome.bad;
          if (search == Search::kFirstProblem) return outcome;
          if (outcome.first_problem.empty()) {
            outcome.first_problem =
                StrCat(problem, " (changes ", changes, ", writes ", static_cast<int>(writes),
                       ", names ", static_cast<int>(names), ", seed ", seed, ")");
          }
        }
      }
    }
  }
  return outcome;
}

#ifdef HORIZON_LONG_TEST
constexpr uint64_t kSeeds = 16;
constexpr size_t kStride = 1;
constexpr int kLeastStates = 10'000;
#else
constexpr uint64_t kSeeds = 2;
constexpr size_t kStride = 3;
constexpr int kLeastStates = 500;
#endif

TEST(PowerCut, AtAnyMomentLeavesTheNewestCommittedCheckpointWhole) {
  for (const Bytes max_shard : {kMaxCheckpointShard, 4_KiB}) {
    const CheckpointLayout layout = SmallLayout(StateFormat::kFp32, SaveMode::kFull, max_shard);
    MemoryIo disk;
    Record(disk, layout, Forgets::kNothing);
    const Outcome outcome = CutEverywhere(disk, layout, kSeeds, kStride);
    EXPECT_EQ(outcome.bad, 0) << outcome.first_problem;
    EXPECT_GE(outcome.states, kLeastStates);
    RecordProperty(StrCat("states_", max_shard.value()), outcome.states);
  }
}

// The first checkpoint of a run, whose folder is new as well.
TEST(PowerCut, TheFirstSaveIsSafeOnceItReturns) {
  const CheckpointLayout layout = SmallLayout();
  MemoryIo disk;
  ASSERT_TRUE(disk.MakeDirectory("/run").ok());
  disk.Settle();
  ASSERT_TRUE(SaveAndPrune(disk, "/run", layout, 1).ok());
  const size_t all = disk.changes().size();
  for (const Writes writes : {Writes::kNone, Writes::kTorn, Writes::kZeros}) {
    for (const Names names : {Names::kKept, Names::kLost}) {
      MemoryIo after(AfterPowerCut(disk, {.changes = all, .writes = writes, .names = names}));
      EXPECT_EQ(ProblemOfRun(after, "/run", layout, 1, 1), "");
    }
  }
}

// The bug zoo of K2: each forgotten sync must be found by the same cuts.
TEST(PowerCut, EveryForgottenSyncIsFound) {
  const CheckpointLayout layout = SmallLayout(StateFormat::kBf16Weights);
  for (const Forgets forgets : {Forgets::kShardSync, Forgets::kManifestSync,
                                Forgets::kTemporaryFolderSync, Forgets::kParentFolderSync}) {
    MemoryIo disk;
    Record(disk, layout, forgets);
    const Outcome outcome = CutEverywhere(disk, layout, 2, 1, Search::kFirstProblem);
    EXPECT_GT(outcome.bad, 0) << "mutant " << static_cast<int>(forgets) << " survives "
                              << outcome.states << " states";
  }
}

}  // namespace
}  // namespace horizon

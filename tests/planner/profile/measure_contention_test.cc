// Work that says itself how much longer it takes beside other work: what was put in is found.
#include "planner/profile/measure_contention.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "common/text/str_cat.h"
#include "planner/profile/host_lane_workloads.h"

namespace horizon {
namespace {

// Neighbours: threads other than the test's that have done work and have not ended.
std::atomic<int> neighbours{0};
struct Presence {
  Presence() { ++neighbours; }
  ~Presence() { --neighbours; }
};

// Every thread has a time of its own, which its work moves on.
thread_local Nanoseconds thread_time{0};
class ThreadClock final : public Clock {
 public:
  Nanoseconds Now() override { return thread_time; }
  bool WaitUntil(Nanoseconds, std::stop_token) override { return true; }
};

// A piece takes a millisecond alone and so many of them beside each other lane.
class Slowed {
 public:
  explicit Slowed(std::map<std::pair<Lane, Lane>, double> times) : times_(std::move(times)) {}

  LaneWorkload Of(Lane lane) {
    return {.lane = lane, .what = std::string(ToString(lane)), .piece = [this, lane] {
              double milliseconds = 1;
              if (std::this_thread::get_id() != home_) {
                thread_local const Presence presence;
                beside_ = lane;
                milliseconds = times_.at({lane, here_});
              } else {
                here_ = lane;
                if (neighbours > 0) milliseconds = times_.at({lane, beside_});
              }
              thread_time += Nanoseconds(static_cast<int64_t>(milliseconds * 1e6));
              return absl::OkStatus();
            }};
  }

 private:
  const std::thread::id home_ = std::this_thread::get_id();
  const std::map<std::pair<Lane, Lane>, double> times_;
  std::atomic<Lane> here_{Lane::kCompute};
  std::atomic<Lane> beside_{Lane::kCompute};
};

TEST(MeasureContention, FindsWhatEachKeepsBesideEachOther) {
  const std::map<std::pair<Lane, Lane>, double> times = {
      {{Lane::kCompute, Lane::kOptimizer}, 1.25}, {{Lane::kOptimizer, Lane::kCompute}, 2},
      {{Lane::kCompute, Lane::kH2d}, 1},          {{Lane::kH2d, Lane::kCompute}, 4},
      {{Lane::kH2d, Lane::kOptimizer}, 5},        {{Lane::kOptimizer, Lane::kH2d}, 1.5}};
  Slowed slowed(times);
  const std::vector<LaneWorkload> workloads = {slowed.Of(Lane::kCompute),
                                               slowed.Of(Lane::kOptimizer), slowed.Of(Lane::kH2d)};
  ThreadClock clock;
  std::vector<int64_t> told;
  const absl::StatusOr<std::vector<LaneContention>> matrix = MeasureContention(
      clock, workloads,
      {.time = {1}, .rounds = 4, .when = "2026-11-17", .on_measured = [&](int64_t done) {
         told.push_back(done);
       }});
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  ASSERT_EQ(matrix->size(), times.size());
  for (const LaneContention& pair : *matrix) {
    EXPECT_NEAR(pair.speed.value, 1 / times.at({pair.work, pair.beside}), 1e-9)
        << ToString(pair.work) << " beside " << ToString(pair.beside);
    EXPECT_EQ(pair.speed.origin.kind, OriginKind::kMeasured);
    EXPECT_EQ(pair.speed.origin.repeats, 4);
    EXPECT_NEAR(pair.speed.origin.spread, 0, 1e-9);
    EXPECT_EQ(pair.speed.origin.when, "2026-11-17");
    EXPECT_EQ(pair.speed.origin.source,
              StrCat(ToString(pair.work), ", beside ", ToString(pair.beside)));
  }
  EXPECT_EQ(told, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(neighbours, 0);
}

// Compute keeps 1/2 beside Adam, which keeps 4/5, and 1/4 beside copies, which keep 1: shares of
// 5/8 and 1/4.
TEST(MeasureCrowdedWeight, IsWhatCrowdedWorkKeepsBesideWhatTheOthersKeep) {
  Slowed slowed({{{Lane::kCompute, Lane::kOptimizer}, 2},
                 {{Lane::kOptimizer, Lane::kCompute}, 1.25},
                 {{Lane::kCompute, Lane::kH2d}, 4},
                 {{Lane::kH2d, Lane::kCompute}, 1}});
  const std::vector<LaneWorkload> others = {slowed.Of(Lane::kOptimizer), slowed.Of(Lane::kH2d)};
  ThreadClock clock;
  std::vector<int64_t> told;
  const absl::StatusOr<Figure> weight = MeasureCrowdedWeight(
      clock, slowed.Of(Lane::kCompute), others,
      {.time = {1}, .rounds = 4, .when = "2026-11-17", .on_measured = [&](int64_t done) {
         told.push_back(done);
       }});
  ASSERT_TRUE(weight.ok()) << weight.status();
  EXPECT_NEAR(weight->value, (0.625 + 0.25) / 2, 1e-9);
  EXPECT_EQ(weight->origin.kind, OriginKind::kMeasured);
  EXPECT_EQ(weight->origin.repeats, 2);
  EXPECT_EQ(weight->origin.when, "2026-11-17");
  EXPECT_EQ(told, (std::vector<int64_t>{1, 2}));
}

TEST(MeasureContention, OneLaneHasNobodyBesideIt) {
  Slowed slowed({});
  ThreadClock clock;
  const std::vector<LaneWorkload> workloads = {slowed.Of(Lane::kCompute)};
  const absl::StatusOr<std::vector<LaneContention>> matrix =
      MeasureContention(clock, workloads, {});
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_TRUE(matrix->empty());
}

// Call 1, 2, ... of either work fails once: that error comes back, and nobody waits for ever.
TEST(MeasureContention, AnyPieceMayFail) {
  class StandingClock final : public Clock {
   public:
    Nanoseconds Now() override { return Nanoseconds(0); }
    bool WaitUntil(Nanoseconds, std::stop_token) override { return true; }
  };
  StandingClock clock;
  for (const size_t failing : {0, 1}) {
    for (int64_t call = 1; call <= 40; ++call) {
      std::array<std::atomic<int64_t>, 2> calls{};
      std::vector<LaneWorkload> workloads;
      for (const size_t i : {0, 1}) {
        workloads.push_back(
            {.lane = i == 0 ? Lane::kH2d : Lane::kHost, .what = "work", .piece = [&, i] {
               return ++calls[i] == call && i == failing ? absl::UnavailableError("gone")
                                                         : absl::OkStatus();
             }});
      }
      const absl::StatusOr<std::vector<LaneContention>> matrix =
          MeasureContention(clock, workloads, {.time = {0}, .rounds = 1});
      // Whether a later call is ever made depends on how the threads run.
      if (calls[failing] >= call) {
        EXPECT_EQ(matrix.status().message(), "gone") << "call " << call;
      } else {
        EXPECT_TRUE(matrix.ok()) << matrix.status();
      }
    }
  }
}

TEST(HostLaneWorkloads, EveryLaneWorksAloneAndBesideTheOthers) {
  const absl::StatusOr<std::unique_ptr<HostLaneWorkloads>> lanes =
      HostLaneWorkloads::Create(2, kLeastLaneBytes);
  ASSERT_TRUE(lanes.ok()) << lanes.status();
  const std::vector<LaneWorkload>& workloads = (*lanes)->workloads();
  ASSERT_EQ(workloads.size(), HostLaneWorkloads::kWorkloads);
  // Through all its memory and round again.
  for (const LaneWorkload& work : workloads) {
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(work.piece().ok()) << work.what;
  }
  EXPECT_NE(workloads[1].what.find("2 threads"), std::string::npos) << workloads[1].what;
  RealClock clock;
  const absl::StatusOr<std::vector<LaneContention>> matrix =
      MeasureContention(clock, workloads, {.time = {0.01}, .rounds = 1});
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_EQ(static_cast<int64_t>(matrix->size()), 2 * ContentionPairs(workloads.size()));
  for (const LaneContention& pair : *matrix) EXPECT_GT(pair.speed.value, 0);
}

}  // namespace
}  // namespace horizon

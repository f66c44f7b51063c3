#include "planner/profile/measure_contention.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/threads/start_thread.h"
#include "planner/profile/measure.h"

namespace horizon {
namespace {

constexpr int64_t kLeastPieces = 2;
constexpr int64_t kMostPieces = 10000;  // a clock may stand still

double SecondsOf(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

// Pieces a second over whole pieces.
struct Pace {
  int64_t pieces = 0;
  Nanoseconds begin{0};
  Nanoseconds end{0};  // of the last piece
  double rate() const {
    return static_cast<double>(pieces) / std::max(1e-9, SecondsOf(end - begin));
  }
};

absl::StatusOr<Pace> Alone(Clock& clock, const LaneWorkload& work, Nanoseconds window) {
  RETURN_IF_ERROR(work.piece());  // caches are this work's then
  Pace pace{.begin = clock.Now()};
  pace.end = pace.begin;
  while (pace.pieces < kLeastPieces ||
         (pace.end - pace.begin < window && pace.pieces < kMostPieces)) {
    RETURN_IF_ERROR(work.piece());
    pace.end = clock.Now();
    ++pace.pieces;
  }
  return pace;
}

// Does work on a thread of its own until told to stop, and keeps the pace of the pieces that lay
// wholly between Count and Stop.
class Neighbour {
 public:
  Neighbour(Clock& clock, const LaneWorkload& work) : clock_(clock), work_(work) {}
  ~Neighbour() { stop_ = true; }  // the thread is joined after this

  absl::Status Start() {
    ASSIGN_OR_RETURN(thread_, StartThread("neighbour", [this] { Loop(); }));
    warm_.wait(false);
    return absl::OkStatus();
  }
  void Count() { counts_ = true; }
  int64_t pieces() const { return done_; }  // counted so far, or all of them after an error
  absl::StatusOr<Pace> Stop() {
    stop_ = true;
    thread_.join();
    RETURN_IF_ERROR(status_);
    return pace_;
  }

 private:
  void Loop() {
    status_ = work_.piece();
    warm_ = true;
    warm_.notify_all();
    bool counting = false;
    while (status_.ok() && !stop_) {
      if (!counting && counts_) {
        counting = true;
        pace_.begin = pace_.end = clock_.Now();
      }
      status_ = work_.piece();
      // What ended after Stop had the machine for itself at the end.
      if (!counting || stop_) continue;
      pace_.end = clock_.Now();
      done_ = ++pace_.pieces;
    }
    if (!status_.ok()) done_ = kLeastPieces;  // nobody waits for more
  }

  Clock& clock_;
  const LaneWorkload& work_;
  std::atomic<bool> warm_{false};
  std::atomic<bool> counts_{false};
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> done_{0};
  Pace pace_;            // the thread's until it is joined
  absl::Status status_;  // likewise
  std::jthread thread_;
};

// What `here` and `there` reach when both run.
absl::StatusOr<std::array<double, 2>> Together(Clock& clock, const LaneWorkload& here,
                                               const LaneWorkload& there, Nanoseconds window) {
  Neighbour neighbour(clock, there);
  RETURN_IF_ERROR(neighbour.Start());
  RETURN_IF_ERROR(here.piece());
  neighbour.Count();
  Pace pace{.begin = clock.Now()};
  pace.end = pace.begin;
  while (pace.pieces < kLeastPieces || neighbour.pieces() < kLeastPieces ||
         (pace.end - pace.begin < window && pace.pieces < kMostPieces)) {
    RETURN_IF_ERROR(here.piece());
    pace.end = clock.Now();
    ++pace.pieces;
  }
  ASSIGN_OR_RETURN(const Pace beside, neighbour.Stop());
  return std::array<double, 2>{pace.rate(), beside.rate()};
}

Figure FigureOf(std::vector<double> shares, std::string source, const std::string& when) {
  const Spread spread = SpreadOf(std::move(shares));
  return {.value = spread.median,
          .origin = {.kind = OriginKind::kMeasured,
                     .source = std::move(source),
                     .when = when,
                     .repeats = spread.repeats,
                     .spread = spread.apart}};
}

}  // namespace

int64_t ContentionPairs(size_t workloads) {
  const auto count = static_cast<int64_t>(workloads);
  return count * (count - 1) / 2;
}

absl::StatusOr<std::vector<LaneContention>> MeasureContention(
    Clock& clock, std::span<const LaneWorkload> workloads, const ContentionTime& time) {
  CHECK(time.rounds >= 1);
  constexpr int kWindows = 3;  // of a round: alone, together, alone
  const double windows = static_cast<double>(
      std::max<int64_t>(1, ContentionPairs(workloads.size()) * time.rounds * kWindows));
  const Nanoseconds window(static_cast<int64_t>(std::min(time.time.value, 3600.0) * 1e9 / windows));
  std::vector<LaneContention> matrix;
  int64_t done = 0;
  for (size_t a = 0; a < workloads.size(); ++a) {
    for (size_t b = a + 1; b < workloads.size(); ++b) {
      CHECK(workloads[a].lane != workloads[b].lane);
      const std::array<size_t, 2> pair = {a, b};
      std::array<std::vector<double>, 2> shares;
      for (int64_t round = 0; round < time.rounds; ++round) {
        // By turns, so that a machine that becomes slower or faster favours nobody.
        const size_t first = static_cast<size_t>(round % 2);
        const LaneWorkload& here = workloads[pair[first]];
        const LaneWorkload& there = workloads[pair[1 - first]];
        ASSIGN_OR_RETURN(const Pace alone, Alone(clock, here, window));
        ASSIGN_OR_RETURN(const auto together, Together(clock, here, there, window));
        ASSIGN_OR_RETURN(const Pace other_alone, Alone(clock, there, window));
        shares[first].push_back(together[0] / alone.rate());
        shares[1 - first].push_back(together[1] / other_alone.rate());
      }
      for (size_t i = 0; i < 2; ++i) {
        const LaneWorkload& work = workloads[pair[i]];
        const LaneWorkload& beside = workloads[pair[1 - i]];
        matrix.push_back(
            {.work = work.lane,
             .beside = beside.lane,
             .speed = FigureOf(std::move(shares[i]), StrCat(work.what, ", beside ", beside.what),
                               time.when)});
      }
      if (time.on_measured) time.on_measured(++done);
    }
  }
  return matrix;
}

absl::StatusOr<Figure> MeasureCrowdedWeight(Clock& clock, const LaneWorkload& crowded,
                                            std::span<const LaneWorkload> others,
                                            const ContentionTime& time) {
  CHECK(!others.empty());
  ContentionTime each{.time = {time.time.value / static_cast<double>(others.size())},
                      .rounds = time.rounds,
                      .when = time.when};
  std::vector<double> shares;
  for (const LaneWorkload& other : others) {
    const LaneWorkload pair[] = {crowded, other};
    // In the order of the pair: what the first keeps, then the second.
    ASSIGN_OR_RETURN(const std::vector<LaneContention> kept, MeasureContention(clock, pair, each));
    shares.push_back(kept[0].speed.value / kept[1].speed.value);
    if (time.on_measured) time.on_measured(static_cast<int64_t>(shares.size()));
  }
  const double mean =
      std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(shares.size());
  Figure weight =
      FigureOf(std::move(shares),
               StrCat(crowded.what, ", beside one thread more of each other lane"), time.when);
  weight.value = mean;
  return weight;
}

}  // namespace horizon

#include "planner/search_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "common/status_macros.h"
#include "schedule/build/build_schedule.h"
#include "schedule/check_runnable.h"
#include "schedule/lay_out_memory.h"
#include "simulator/bounds.h"

namespace horizon {
namespace {

// Steps of models with many experts on a small device have 100,000 operations and more. After so
// many in all, some five seconds, the search in the order of bounds gives way to the best plan's
// neighbours (Search::Descend).
constexpr int64_t kMostOperations = 2'500'000;

struct Candidate {
  StreamPlan plan;
  int64_t bound = 0;
  Bytes device_bytes;
  bool simulated = false;
  bool ranked = false;
};

// One choice apart; how many chunks are resident follows from what else is on the device.
bool AreNeighbours(const StreamPlan& a, const StreamPlan& b) {
  const bool different[] = {a.strategy != b.strategy,
                            a.chunk_bytes != b.chunk_bytes,
                            a.buffer_depth != b.buffer_depth,
                            (a.resident_chunks > 0) != (b.resident_chunks > 0),
                            a.anchor_interval != b.anchor_interval,
                            a.anchor_home != b.anchor_home,
                            a.recompute != b.recompute,
                            a.keep_feed_forward != b.keep_feed_forward,
                            a.gradient_slabs != b.gradient_slabs,
                            a.accumulation_order != b.accumulation_order,
                            a.loss_chunk_tokens != b.loss_chunk_tokens,
                            a.embedding_home != b.embedding_home,
                            a.host_threads != b.host_threads ||
                                a.optimizer_threads != b.optimizer_threads ||
                                a.compute_threads != b.compute_threads};
  return std::count(std::begin(different), std::end(different), true) == 1;
}

// The chunks and costs of plans that cut the model alike. `chunks` has the resident chunks of the
// plan that asked last.
struct CutModel {
  StreamPlan plan;
  ChunkTable chunks;
  std::unique_ptr<CostModel> costs;
};

// What a plan needs, after its resident chunks were chosen.
struct Fitted {
  StreamPlan asked;
  StreamPlan plan;
  std::optional<MemoryNeed> memory;  // none: it cannot be built, or is looked at elsewhere
};

class Search {
 public:
  Search(const ModelSpec& spec, const TrainingJob& job, const Setting& setting)
      : spec_(spec), job_(job), setting_(setting), stages_(ListTrainedStages(spec, job)) {}

  enum class Until { kAll, kFirst };  // fitting plan found

  void Collect(const std::vector<PlanSpace>& spaces, Until until) {
    until_ = until;
    for (const PlanSpace& space : spaces) Collect(space);
    TakeNearest();
    // Simpler (earlier) plans win ties.
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.bound < b.bound; });
    result_.fitting = static_cast<int64_t>(candidates_.size());
  }

  SearchResult Best(double tolerance, int64_t most, int64_t keep_best = 0,
                    int64_t keep_spread = 0) {
    for (Candidate& candidate : candidates_) {
      const bool enough =
          Hopeless(candidate.bound, tolerance) && CannotRank(candidate.bound, tolerance, keep_best);
      if (result_.simulated >= most || operations_ >= kMostOperations || enough) break;
      Simulate(candidate);
    }
    Descend(tolerance);
    for (const Nearest& strategy : nearest_) LookAt(strategy);
    Rank(keep_best);
    Spread(keep_spread);
    for (const Candidate& candidate : candidates_) {
      if (Hopeless(candidate.bound, tolerance)) break;
      if (candidate.simulated) continue;
      result_.gap = 1 - static_cast<double>(candidate.bound) * 1e-9 / best_seconds_;
      break;
    }
    return std::move(result_);
  }

  SearchResult First() {
    if (!candidates_.empty()) result_.plan = candidates_.front().plan;
    return std::move(result_);
  }

 private:
  // The plan of a strategy that is short of the fewest bytes.
  struct Nearest {
    Strategy strategy;
    StreamPlan plan;
    std::vector<Shortage> shortages;
    Bytes lacking = Bytes(CheckedU64::Overflowed());
  };

  void Collect(const PlanSpace& space) {
    nearest_.push_back({.strategy = space.base.strategy, .plan = {}, .shortages = {}});
    must_run_ = CheckRunnable(spec_, job_, space.base).ok();
    has_none_resident_ = std::find(space.resident_chunks.begin(), space.resident_chunks.end(), 0) !=
                         space.resident_chunks.end();
    ForEachPlan(space, [this](const StreamPlan& plan) { Consider(plan); });
  }

  // What lacks is said of the first strategy of which a plan can be built.
  void TakeNearest() {
    for (const Nearest& one : nearest_) {
      if (one.shortages.empty() || !result_.shortages.empty()) continue;
      result_.nearest = one.plan;
      result_.shortages = one.shortages;
    }
  }

  // Says what a strategy would do. Its plans with the lowest bounds are simulated for that, even
  // where the bounds alone show that they are slower than the best.
  void LookAt(const Nearest& strategy) {
    if (nearest_.size() < 2) return;
    constexpr int kLookedAt = 4;
    int looked_at = 0;
    for (Candidate& candidate : candidates_) {
      if (candidate.plan.strategy != strategy.strategy || looked_at == kLookedAt) continue;
      ++looked_at;
      if (!candidate.simulated) Simulate(candidate);
    }
    StrategyOutcome outcome{.strategy = strategy.strategy};
    for (const Timed& timed : timed_) {
      if (timed.candidate->plan.strategy != strategy.strategy) continue;
      outcome.step_seconds = std::min(outcome.step_seconds.value_or(timed.seconds), timed.seconds);
    }
    if (!outcome.step_seconds.has_value()) outcome.shortages = strategy.shortages;
    result_.strategies.push_back(std::move(outcome));
  }

  bool Hopeless(int64_t bound, double tolerance) const {
    return static_cast<double>(bound) * 1e-9 >= best_seconds_ * (1 - tolerance);
  }

  // There are `keep` plans already, all faster than the bound allows.
  bool CannotRank(int64_t bound, double tolerance, int64_t keep) const {
    if (static_cast<int64_t>(timed_.size()) < keep) return false;
    if (keep == 0) return true;
    std::vector<double> seconds;
    for (const Timed& timed : timed_) seconds.push_back(timed.seconds);
    std::nth_element(seconds.begin(), seconds.begin() + (keep - 1), seconds.end());
    return static_cast<double>(bound) * 1e-9 >=
           seconds[static_cast<size_t>(keep) - 1] * (1 - tolerance);
  }

  void Rank(int64_t keep) {
    std::stable_sort(timed_.begin(), timed_.end(), [](const Timed& a, const Timed& b) {
      return std::tie(a.seconds, a.candidate->device_bytes) <
             std::tie(b.seconds, b.candidate->device_bytes);
    });
    for (const Timed& timed : timed_) {
      if (static_cast<int64_t>(result_.ranked.size()) >= keep) return;
      result_.ranked.push_back({.plan = timed.candidate->plan, .step_seconds = timed.seconds});
      timed.candidate->ranked = true;
    }
  }

  void Spread(int64_t keep) {
    std::vector<const Candidate*> others;
    for (const Candidate& candidate : candidates_) {
      if (!candidate.ranked) others.push_back(&candidate);
    }
    const auto count = static_cast<int64_t>(others.size());
    for (int64_t i = 1; i <= std::min(keep, count); ++i) {
      const Candidate& candidate =
          *others[static_cast<size_t>(i * count / std::min(keep, count)) - 1];
      const absl::StatusOr<Prediction> prediction = Predict(spec_, job_, candidate.plan, setting_);
      if (!prediction.ok()) continue;
      result_.spread.push_back({.plan = candidate.plan, .step_seconds = prediction->step_seconds});
    }
  }

  // From the best so far to its best neighbour, as long as that is faster. Bounds alone may favour
  // many plans that are alike; this looks beyond them.
  void Descend(double tolerance) {
    double before = std::numeric_limits<double>::infinity();
    while (best_seconds_ < before) {
      before = best_seconds_;
      const StreamPlan from = *result_.plan;
      for (Candidate& candidate : candidates_) {
        if (Hopeless(candidate.bound, tolerance)) break;
        if (!candidate.simulated && AreNeighbours(candidate.plan, from)) Simulate(candidate);
      }
    }
  }

  // An error where the chunks cannot be cut.
  const absl::StatusOr<CutModel>& CutFor(const StreamPlan& plan) {
    const auto [found, added] = cuts_.try_emplace(KeyOf(plan));
    absl::StatusOr<CutModel>& cut = found->second;
    if (added) cut = Cut(plan);
    if (!cut.ok()) return cut;
    if (cut->plan.resident_chunks != plan.resident_chunks ||
        cut->plan.embedding_home != plan.embedding_home) {
      MarkResident(job_, plan, cut->chunks);
      cut->plan.resident_chunks = plan.resident_chunks;
      cut->plan.embedding_home = plan.embedding_home;
    }
    return cut;
  }

  absl::StatusOr<CutModel> Cut(const StreamPlan& plan) const {
    RETURN_IF_ERROR(stages_.status());
    CutModel cut{.plan = plan};
    ASSIGN_OR_RETURN(cut.chunks, CutIntoChunks(*stages_, spec_, job_, plan));
    return cut;
  }

  // The costs of a model that was cut. They do not depend on which chunks are resident.
  const CostModel& CostsOf(const StreamPlan& plan) {
    CutModel& cut = *cuts_.at(KeyOf(plan));
    if (cut.costs == nullptr) {
      cut.costs = std::make_unique<CostModel>(spec_, job_, cut.plan, cut.chunks, setting_.profile,
                                              setting_.software);
    }
    return *cut.costs;
  }

  void Consider(const StreamPlan& plan) {
    if (until_ == Until::kFirst && !candidates_.empty()) return;
    ++result_.plans;
    const Fitted& fitted = FittedFor(plan);
    if (!fitted.memory.has_value()) return;
    StreamPlan filled = fitted.plan;
    filled.compute_threads = plan.compute_threads;
    filled.host_threads = plan.host_threads;
    filled.optimizer_threads = plan.optimizer_threads;
    std::vector<Shortage> shortages =
        ShortagesOf(*fitted.memory, setting_.profile, setting_.margin);
    if (!shortages.empty()) return NoteNearest(filled, std::move(shortages));
    candidates_.push_back({.plan = filled,
                           .bound = until_ == Until::kFirst ? 0 : BoundOf(filled),
                           .device_bytes = fitted.memory->device_bytes()});
  }

  // Threads of the host's own lanes change no memory, and compute threads only that of device
  // `host`: plans that differ in these are laid out once.
  const Fitted& FittedFor(const StreamPlan& plan) {
    StreamPlan asked = plan;
    asked.host_threads = asked.optimizer_threads = 1;
    if (job_.device != DeviceKind::kHost) asked.compute_threads = 1;
    for (const Fitted& known : fitted_) {
      if (known.asked == asked) return known;
    }
    constexpr size_t kKnown = 8;  // the plans of two choices of threads
    if (fitted_.size() == kKnown) fitted_.erase(fitted_.begin());
    Fitted fitted{.asked = asked, .plan = asked};
    fitted.plan.resident_chunks = std::max<int64_t>(0, plan.resident_chunks);
    fitted.memory = MemoryOf(fitted.plan);
    if (fitted.memory.has_value() && plan.resident_chunks == kAsManyAsFit) {
      const std::optional<MemoryNeed> with = Fill(fitted.plan, *fitted.memory);
      // Without room for any it is the plan without resident chunks, which may be looked at by
      // itself.
      if (with.has_value() || has_none_resident_) fitted.memory = with;
    }
    return fitted_.emplace_back(std::move(fitted));
  }

  // Slabs change memory and stalls, not what the lanes have to do.
  int64_t BoundOf(StreamPlan plan) {
    plan.gradient_slabs = 1;
    if (bounded_ == plan) return bound_;
    const absl::StatusOr<CutModel>& cut = CutFor(plan);
    bound_ = BoundStep(job_, plan, cut->chunks, CostsOf(plan)).nanoseconds();
    bounded_ = std::move(plan);
    return bound_;
  }

  // What the plan needs, or nothing where it cannot be built.
  std::optional<MemoryNeed> MemoryOf(const StreamPlan& plan) {
    absl::StatusOr<MemoryNeed> need = NeedOf(plan);
    if (need.ok()) return *need;
    if (result_.refusal.ok()) result_.refusal = need.status();
    return std::nullopt;
  }

  absl::StatusOr<MemoryNeed> NeedOf(const StreamPlan& plan) {
    RETURN_IF_ERROR(ValidatePlan(spec_, job_, plan));
    if (must_run_) RETURN_IF_ERROR(CheckRunnable(spec_, job_, plan));
    const absl::StatusOr<CutModel>& cut = CutFor(plan);
    RETURN_IF_ERROR(cut.status());
    RETURN_IF_ERROR(CheckRingHoldsBlock(cut->chunks, job_, plan));
    ASSIGN_OR_RETURN(const MemoryTotals totals,
                     MeasureLayout(spec_, job_, plan, cut->chunks, PassKind::kTrain));
    return EstimateNeed(totals, setting_.profile, setting_.software);
  }

  // Raises plan.resident_chunks (0) to what the device has room for: one more would not fit.
  // Nothing where that is none.
  std::optional<MemoryNeed> Fill(StreamPlan& plan, const MemoryNeed& without) {
    const Bytes available = Available(setting_.profile, Limit::kDeviceMemory, setting_.margin);
    std::optional<MemoryNeed> filled;
    Bytes used = without.device_bytes();
    for (;;) {
      // One more than seems to fit is tried too: the ring shrinks when its largest chunk leaves it.
      StreamPlan more = plan;
      more.resident_chunks += AddedBy(available - std::min(available, used), plan);
      std::optional<MemoryNeed> memory;
      for (; more.resident_chunks > plan.resident_chunks; --more.resident_chunks) {
        memory = MemoryOf(more);
        if (memory.has_value() && memory->device_bytes() <= available) break;
      }
      if (more.resident_chunks == plan.resident_chunks) return filled;
      plan = std::move(more);
      used = memory->device_bytes();
      filled = memory;
    }
  }

  // How many more chunks `room` holds, in the order in which they become resident, and one on
  // top if there is any left.
  int64_t AddedBy(Bytes room, const StreamPlan& plan) {
    const ChunkTable& chunks = CutFor(plan)->chunks;
    const Bytes slot = BytesOfParameter(job_).slot;
    int64_t added = 0;
    const auto full = [&](int32_t c) {
      if (chunks.chunks[c].resident) return false;
      ++added;
      const Bytes bytes = slot * chunks.chunks[c].parameters;
      if (bytes > room) return true;
      room -= bytes;
      return false;
    };
    for (int32_t c = chunks.head.begin; c < chunks.head.end; ++c) {
      if (full(c)) return added;
    }
    for (int32_t c = chunks.layers.end - 1; c >= chunks.layers.begin; --c) {
      if (full(c)) return added;
    }
    return added;
  }

  void NoteNearest(const StreamPlan& plan, std::vector<Shortage> shortages) {
    Bytes lacking;
    for (const Shortage& shortage : shortages) lacking += shortage.needed - shortage.available;
    Nearest& nearest = nearest_.back();
    if (lacking >= nearest.lacking) return;
    nearest.lacking = lacking;
    nearest.plan = plan;
    nearest.shortages = std::move(shortages);
  }

  void Simulate(Candidate& candidate) {
    candidate.simulated = true;
    absl::StatusOr<Schedule> schedule = BuildSchedule(spec_, job_, candidate.plan);
    if (!schedule.ok()) return;
    PredictedRun run = PredictRun(spec_, *schedule, setting_);
    ++result_.simulated;
    operations_ += static_cast<int64_t>(schedule->steady.operations.size());
    const double seconds = run.prediction.step_seconds;
    timed_.push_back({.candidate = &candidate, .seconds = seconds});
    const bool faster = seconds < best_seconds_;
    const bool smaller = seconds == best_seconds_ && candidate.device_bytes < best_device_bytes_;
    if (!faster && !smaller) return;
    best_seconds_ = seconds;
    best_device_bytes_ = candidate.device_bytes;
    result_.plan = candidate.plan;
    result_.prediction = std::move(run.prediction);
    result_.simulation = {.schedule = *std::move(schedule), .steady = std::move(run.steady)};
  }

  struct Timed {
    Candidate* candidate;
    double seconds;
  };

  // What says where a model is cut.
  using Key = std::tuple<Strategy, uint64_t, int64_t, bool, bool>;
  static Key KeyOf(const StreamPlan& plan) {
    return {plan.strategy, plan.chunk_bytes.value(), plan.anchor_interval, plan.recompute,
            plan.keep_feed_forward};
  }

  const ModelSpec& spec_;
  const TrainingJob& job_;
  const Setting& setting_;
  const absl::StatusOr<StageList> stages_;
  Until until_ = Until::kAll;
  // Only plans that the runtime executes are wanted. False where model, job or strategy can be
  // simulated and not run: then whoever shows the answer says so.
  bool must_run_ = true;
  bool has_none_resident_ = true;  // the space has plans without resident chunks
  std::map<Key, absl::StatusOr<CutModel>> cuts_;
  std::vector<Fitted> fitted_;  // of the last plans
  std::vector<Candidate> candidates_;
  std::vector<Timed> timed_;  // those simulated
  int64_t operations_ = 0;    // of their steps
  SearchResult result_;
  std::optional<StreamPlan> bounded_;  // the last plan bounded, and its bound
  int64_t bound_ = 0;
  double best_seconds_ = std::numeric_limits<double>::infinity();
  Bytes best_device_bytes_;
  std::vector<Nearest> nearest_;  // of each space
};

}  // namespace

SearchResult SearchPlan(const ModelSpec& spec, const TrainingJob& job, const PlanSpace& space,
                        const Setting& setting, const SearchOptions& options) {
  return SearchPlans(spec, job, {space}, setting, options);
}

SearchResult SearchPlans(const ModelSpec& spec, const TrainingJob& job,
                         const std::vector<PlanSpace>& spaces, const Setting& setting,
                         const SearchOptions& options) {
  Search search(spec, job, setting);
  search.Collect(spaces, Search::Until::kAll);
  return search.Best(options.tolerance, options.most_simulated, options.keep_best,
                     options.keep_spread);
}

SearchResult SearchExhaustively(const ModelSpec& spec, const TrainingJob& job,
                                const PlanSpace& space, const Setting& setting) {
  Search search(spec, job, setting);
  search.Collect({space}, Search::Until::kAll);
  // A bound is never above the step, so nothing is hopeless at a tolerance below zero.
  return search.Best(-std::numeric_limits<double>::infinity(), std::numeric_limits<int64_t>::max());
}

SearchResult FindFitting(const ModelSpec& spec, const TrainingJob& job, const PlanSpace& space,
                         const Setting& setting) {
  return FindFitting(spec, job, std::vector<PlanSpace>{space}, setting);
}

SearchResult FindFitting(const ModelSpec& spec, const TrainingJob& job,
                         const std::vector<PlanSpace>& spaces, const Setting& setting) {
  Search search(spec, job, setting);
  search.Collect(spaces, Search::Until::kFirst);
  return search.First();
}

}  // namespace horizon

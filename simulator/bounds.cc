#include "simulator/bounds.h"

#include <algorithm>

#include "schedule/compute_order.h"
#include "schedule/lay_out_memory.h"
#include "schedule/ring_assignment.h"

namespace horizon {
namespace {

class BoundAdder {
 public:
  explicit BoundAdder(const ResourceAmounts& capacity)
      : dram_(capacity[static_cast<size_t>(Resource::kDram)]) {}

  void Add(Lane lane, const OperationCost& cost, int64_t times = 1) {
    bound_.busy_nanoseconds[static_cast<size_t>(lane)] += cost.nanoseconds * times;
    bound_.dram_nanoseconds += static_cast<double>(cost.nanoseconds * times) *
                               cost.draw[static_cast<size_t>(Resource::kDram)] / dram_;
  }
  void AddToTurn(const OperationCost& cost) { bound_.turn_nanoseconds += cost.nanoseconds; }
  const StepBound& bound() const { return bound_; }

 private:
  double dram_;
  StepBound bound_;
};

// The lanes of a step that is not built yet.
class UnbuiltStep {
 public:
  UnbuiltStep(const TrainingJob& job, const StreamPlan& plan, const ChunkTable& chunks,
              const CostModel& model)
      : job_(job),
        plan_(plan),
        chunks_(chunks),
        model_(model),
        each_(BytesOfParameter(job)),
        adder_(model.capacity()) {}

  StepBound Bound() {
    const std::vector<ComputeItem> items = TrainOrder(chunks_, job_, plan_);
    for (const ComputeItem& item : items) AddCompute(item);
    if (plan_.strategy == Strategy::kHorizon) {
      AddLoads(items);
      AddAnchors();
      AddGradients();
      AddTurn();
    }
    return adder_.bound();
  }

 private:
  void AddCompute(const ComputeItem& item) {
    using Direction = CostModel::Direction;
    const int64_t threads = plan_.compute_threads;
    switch (item.kind) {
      case OperationKind::kForward:
      case OperationKind::kRecompute:
        return adder_.Add(Lane::kCompute, model_.Compute(item.chunk, Direction::kForward, threads));
      case OperationKind::kBackward:
        return adder_.Add(Lane::kCompute,
                          model_.Compute(item.chunk, Direction::kBackward, threads));
      case OperationKind::kLogSumExp:
      case OperationKind::kLoss: {
        const int64_t begin = item.part * plan_.loss_chunk_tokens;
        const int64_t tokens = std::min(plan_.loss_chunk_tokens, job_.micro_batch_tokens() - begin);
        return adder_.Add(Lane::kCompute, LossOf(item, tokens));
      }
      default:
        return;
    }
  }

  // Neighbouring loss chunks are alike but for the last.
  const OperationCost& LossOf(const ComputeItem& item, int64_t tokens) {
    if (item.chunk != loss_chunk_ || item.kind != loss_kind_ || tokens != loss_tokens_) {
      loss_ =
          model_.Loss(item.chunk, tokens, item.kind == OperationKind::kLoss, plan_.compute_threads);
      loss_chunk_ = item.chunk;
      loss_kind_ = item.kind;
      loss_tokens_ = tokens;
    }
    return loss_;
  }

  void AddLoads(const std::vector<ComputeItem>& items) {
    std::vector<int32_t> streamed;
    std::vector<char> seen(chunks_.chunks.size(), 0);
    for (const ComputeItem& item : items) {
      if (!item.uses_weights()) continue;
      if (!chunks_.chunks[item.chunk].resident) {
        streamed.push_back(item.chunk);
      } else if (!seen[item.chunk]) {  // refreshed once
        seen[item.chunk] = 1;
        AddLoad(item.chunk);
      }
    }
    std::vector<char> distinct(chunks_.chunks.size(), 0);
    int64_t count = 0;
    for (const int32_t c : streamed) count += distinct[c] == 0 ? distinct[c] = 1 : 0;
    const int64_t depth = std::min(plan_.buffer_depth, count);
    const std::vector<RingUse> uses = AssignRing(streamed, static_cast<int32_t>(depth));
    for (size_t i = 0; i < uses.size(); ++i) {
      if (uses[i].loads) AddLoad(streamed[i]);
    }
  }

  void AddLoad(int32_t chunk) {
    adder_.Add(Lane::kH2d, model_.Copy(Lane::kH2d, each_.link * chunks_.chunks[chunk].parameters,
                                       CostModel::Pages::kPinned, plan_.h2d_threads));
  }

  void AddAnchors() {
    if (!plan_.recompute || plan_.anchor_home != AnchorHome::kHost) return;
    const int32_t in_flight = plan_.accumulation_order == AccumulationOrder::kChunkMajor
                                  ? static_cast<int32_t>(job_.accumulation)
                                  : 1;
    int64_t anchors = 0;
    for (int32_t b = 0; b < static_cast<int32_t>(chunks_.blocks.size()); ++b) {
      if (!ForwardKeeps(chunks_, plan_, in_flight, b)) anchors += job_.accumulation;
    }
    const uint64_t bytes = model_.hidden_bytes();
    const auto pinned = CostModel::Pages::kPinned;
    adder_.Add(Lane::kD2h, model_.Copy(Lane::kD2h, bytes, pinned, plan_.d2h_threads), anchors);
    adder_.Add(Lane::kH2d, model_.Copy(Lane::kH2d, bytes, pinned, plan_.h2d_threads), anchors);
  }

  void AddGradients() {
    const int64_t summed = SummedOnDevice(job_, plan_);
    const uint64_t each = summed > 1 ? 4 : each_.gradient;
    const int64_t leave = summed > 1 ? 1 : job_.accumulation;
    for (int32_t c = 0; c < static_cast<int32_t>(chunks_.chunks.size()); ++c) {
      const uint64_t parameters = chunks_.chunks[c].parameters;
      const bool kept = KeepsGradient(chunks_, job_, plan_, c);
      const uint64_t gradient = kept ? each_.kept_gradient * parameters : each * parameters;
      if (IsUsedOnDevice(chunks_, plan_, c)) {
        adder_.Add(Lane::kD2h,
                   model_.Copy(Lane::kD2h, each * parameters, CostModel::Pages::kPinned,
                               plan_.d2h_threads),
                   leave);
        if (kept) {
          adder_.Add(Lane::kHost, model_.HostPass(each * parameters + gradient, plan_.host_threads),
                     leave);
        }
      }
      adder_.Add(Lane::kHost, model_.HostPass(gradient, plan_.host_threads));  // norm
      adder_.Add(Lane::kOptimizer, AdamOf(c));
    }
  }

  // With the table on the device the first compute is its lookup, else the first layer.
  void AddTurn() {
    const bool table = plan_.embedding_home != EmbeddingHome::kHost;
    const int32_t last = table ? chunks_.embedding.end - 1 : chunks_.layers.begin;
    const int32_t first = table ? chunks_.embedding.begin : chunks_.layers.begin;
    const uint64_t leaving =
        chunks_.chunks[last].parameters * (SummedOnDevice(job_, plan_) > 1 ? 4 : each_.gradient);
    adder_.AddToTurn(
        model_.Copy(Lane::kD2h, leaving, CostModel::Pages::kPinned, plan_.d2h_threads));
    const uint64_t parameters = chunks_.chunks[first].parameters;
    adder_.AddToTurn(model_.Copy(Lane::kH2d, each_.link * parameters, CostModel::Pages::kPinned,
                                 plan_.h2d_threads));
    if (job_.optimizer_place == OptimizerPlace::kInBackward) return;
    adder_.AddToTurn(model_.HostPass(leaving, plan_.host_threads));  // the norm, at least
    // Updates go in forward order: a table on the host is updated before the first layer.
    for (int32_t c = chunks_.embedding.begin; c < chunks_.embedding.end && !table; ++c) {
      adder_.AddToTurn(AdamOf(c));
    }
    adder_.AddToTurn(AdamOf(first));
  }

  OperationCost AdamOf(int32_t c) const {
    const uint64_t parameters = chunks_.chunks[c].parameters;
    const uint64_t state =
        (2 + each_.low_half) * parameters + MomentBytes(job_.state_format, parameters);
    const bool kept = KeepsGradient(chunks_, job_, plan_, c);
    const uint64_t arrived = SummedOnDevice(job_, plan_) > 1 ? 4 : each_.gradient;
    const uint64_t gradient = (kept ? each_.kept_gradient : arrived) * parameters;
    return model_.Adam(parameters, gradient + 2 * state, plan_.optimizer_threads);
  }

  const TrainingJob& job_;
  const StreamPlan& plan_;
  const ChunkTable& chunks_;
  const CostModel& model_;
  const ParameterBytes each_;
  BoundAdder adder_;
  OperationCost loss_;
  int32_t loss_chunk_ = -1;
  OperationKind loss_kind_ = OperationKind::kLoss;
  int64_t loss_tokens_ = 0;
};

}  // namespace

int64_t StepBound::nanoseconds() const {
  const int64_t lanes = *std::max_element(busy_nanoseconds.begin(), busy_nanoseconds.end());
  const int64_t compute = busy_nanoseconds[static_cast<size_t>(Lane::kCompute)];
  return std::max({lanes, static_cast<int64_t>(dram_nanoseconds), compute + turn_nanoseconds});
}

StepBound BoundOf(const Schedule& schedule, const CostTable& costs) {
  const bool repeats = !schedule.steady.operations.empty();
  const Phase& phase = repeats ? schedule.steady : schedule.first;
  const std::vector<OperationCost>& cost = repeats ? costs.steady : costs.first;
  BoundAdder adder(costs.capacity);
  for (size_t i = 0; i < phase.operations.size(); ++i) {
    adder.Add(phase.operations[i].lane, cost[i]);
  }
  return adder.bound();
}

StepBound BoundStep(const TrainingJob& job, const StreamPlan& plan, const ChunkTable& chunks,
                    const CostModel& model) {
  if (plan.strategy != Strategy::kHorizon && plan.strategy != Strategy::kResident) return {};
  return UnbuiltStep(job, plan, chunks, model).Bound();
}

std::vector<Overlap> ForwardOverlaps(const Schedule& schedule, const CostModel& model) {
  const ChunkTable& chunks = schedule.chunks;
  std::vector<Overlap> overlaps;
  for (int32_t c = chunks.layers.begin + 1; c < chunks.layers.end; ++c) {
    if (chunks.chunks[c].resident) continue;
    const uint64_t bytes = BytesOfParameter(schedule.job).link * chunks.chunks[c].parameters;
    overlaps.push_back(
        {.chunk = c,
         .load_nanoseconds =
             model.Copy(Lane::kH2d, bytes, CostModel::Pages::kPinned, schedule.plan.h2d_threads)
                 .nanoseconds,
         .previous_compute_nanoseconds =
             model.Compute(c - 1, CostModel::Direction::kForward, schedule.plan.compute_threads)
                 .nanoseconds});
  }
  return overlaps;
}

}  // namespace horizon

#include "simulator/bounds.h"

#include <algorithm>

#include "schedule/build/compute_order.h"
#include "schedule/build/ring_assignment.h"
#include "schedule/lay_out_memory.h"
#include "schedule/strategy_rules.h"

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
  void SetTurn(int64_t nanoseconds) { bound_.turn_nanoseconds = nanoseconds; }
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
        rules_(RulesOf(job, plan)),
        each_(BytesOfParameter(job)),
        adder_(model.capacity()) {}

  StepBound Bound() {
    const std::vector<ComputeItem> items = TrainOrder(chunks_, job_, plan_);
    for (const ComputeItem& item : items) AddCompute(item);
    if (!rules_.all_on_device) {
      AddInputs();
      AddLoads(items);
      AddAnchors();
      AddGradients();
      // With frozen tensors other operations lie between two steps; without this part the bound
      // still holds.
      if (chunks_.trained == chunks_.parameters) AddTurn();
    }
    return adder_.bound();
  }

 private:
  void AddCompute(const ComputeItem& item) {
    using Direction = CostModel::Direction;
    const int64_t threads = plan_.compute_threads;
    switch (item.kind) {
      case OperationKind::kEmbed:
        if (item.chunk < 0) return;  // rows from the host
        [[fallthrough]];
      case OperationKind::kForward:
        return adder_.Add(Lane::kCompute, model_.Compute(item.chunk, Direction::kForward, threads));
      case OperationKind::kRecompute: {
        const bool kept_alone =
            rules_.recomputes_kept_alone && !chunks_.RecomputePassesOn(item.chunk);
        return adder_.Add(
            Lane::kCompute,
            model_.Compute(item.chunk, kept_alone ? Direction::kRecompute : Direction::kForward,
                           threads));
      }
      case OperationKind::kBackward:
        return adder_.Add(Lane::kCompute,
                          model_.Compute(item.chunk, Direction::kBackward, threads));
      case OperationKind::kLogSumExp:
      case OperationKind::kLoss: {
        const int64_t begin = item.part * plan_.loss_chunk_tokens;
        const int64_t tokens = std::min(plan_.loss_chunk_tokens, job_.micro_batch_tokens() - begin);
        return adder_.Add(Lane::kCompute, LossOf(item, tokens));
      }
      case OperationKind::kHeadGradient:
        return adder_.Add(Lane::kCompute, model_.HeadGradient(item.chunk, threads));
      case OperationKind::kEmbedBackward:
        if (item.chunk < 0) return;
        return adder_.Add(Lane::kCompute, model_.EmbedBackward(item.chunk, threads));
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

  // Tokens go in and losses come out; so do rows of a table on the host and their gradients.
  void AddInputs() {
    const auto add = [&](Lane lane, Bytes bytes) {
      adder_.Add(lane, CopyOf(lane, bytes), job_.accumulation);
    };
    add(Lane::kH2d, kTokenBytes * job_.micro_batch_tokens());
    add(Lane::kD2h, kLossBytes);
    if (chunks_.routers > 0) add(Lane::kD2h, RouterSumsBytes(chunks_));
    if (plan_.embedding_home != EmbeddingHome::kHost) return;
    add(Lane::kH2d, model_.hidden_bytes());
    if (!chunks_.chunks[chunks_.embedding.begin].frozen()) {
      add(Lane::kD2h, model_.hidden_bytes());
    }
  }

  void AddLoads(const std::vector<ComputeItem>& items) {
    std::vector<int32_t> streamed;
    std::vector<char> seen(chunks_.chunks.size(), 0);
    for (const ComputeItem& item : items) {
      if (!item.uses_weights()) continue;
      if (!chunks_.chunks[item.chunk].resident) {
        streamed.push_back(item.chunk);
      } else if (!seen[item.chunk] && !chunks_.chunks[item.chunk].frozen()) {  // refreshed once
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

  // Most chunks have the size of the one before.
  void AddLoad(int32_t chunk) {
    const uint64_t parameters = chunks_.chunks[chunk].parameters;
    if (parameters != loaded_parameters_) {
      loaded_parameters_ = parameters;
      load_ = CopyOf(Lane::kH2d, each_.link * parameters);
    }
    adder_.Add(Lane::kH2d, load_);
  }

  void AddAnchors() {
    if (!plan_.recompute || plan_.anchor_home != AnchorHome::kHost) return;
    const int32_t in_flight = plan_.accumulation_order == AccumulationOrder::kChunkMajor
                                  ? static_cast<int32_t>(job_.accumulation)
                                  : 1;
    int64_t anchors = 0;
    for (int32_t b = 0; b < static_cast<int32_t>(chunks_.recompute_blocks.size()); ++b) {
      if (!ForwardKeepsActivations(chunks_, job_, plan_, in_flight, b))
        anchors += job_.accumulation;
    }
    const Bytes bytes = model_.hidden_bytes();
    adder_.Add(Lane::kD2h, CopyOf(Lane::kD2h, bytes), anchors);
    adder_.Add(Lane::kH2d, CopyOf(Lane::kH2d, bytes), anchors);
  }

  // What happens to the gradient of a chunk outside of compute.
  struct GradientCosts {
    OperationCost offload;
    OperationCost accumulate;
    OperationCost norm;
    OperationCost update;
  };
  GradientCosts GradientCostsOf(int32_t c) const {
    const Bytes arriving = ArrivingBytes() * chunks_.chunks[c].trained;
    const Bytes kept = KeptGradientBytes(c);
    return {.offload = CopyOf(Lane::kD2h, arriving),
            .accumulate = model_.Accumulate(arriving + kept, plan_.host_threads),
            .norm = model_.Norm(kept, plan_.host_threads),
            .update = AdamOf(c)};
  }

  void AddGradients() {
    const int64_t arrivals = SummedOnDevice(job_, plan_) > 1 ? 1 : job_.accumulation;
    GradientCosts costs;
    int32_t known = -1;  // a chunk with these costs: most are like the one before
    for (int32_t c = 0; c < static_cast<int32_t>(chunks_.chunks.size()); ++c) {
      const Chunk& chunk = chunks_.chunks[c];
      if (chunk.frozen()) continue;
      const bool kept = KeepsGradient(chunks_, job_, plan_, c);
      const bool is_like = known >= 0 && chunks_.chunks[known].trained == chunk.trained &&
                           chunks_.chunks[known].moment_blocks == chunk.moment_blocks &&
                           KeepsGradient(chunks_, job_, plan_, known) == kept;
      if (!is_like) {
        costs = GradientCostsOf(c);
        known = c;
      }
      if (IsUsedOnDevice(chunks_, plan_, c)) {
        // Both uses of a tied table have a gradient, unless rows make up the one.
        const bool both = chunks_.tied && chunks_.embedding.contains(c) &&
                          plan_.embedding_home != EmbeddingHome::kHost;
        const int64_t leave = (both ? 2 : 1) * arrivals;
        adder_.Add(Lane::kD2h, costs.offload, leave);
        if (kept) adder_.Add(Lane::kHost, costs.accumulate, leave);
      }
      adder_.Add(Lane::kHost, costs.norm);
      adder_.Add(Lane::kOptimizer, costs.update);
    }
  }

  // From the end of the last compute of a step to the first of the next, on the lanes in between:
  // each adds what certainly runs after what it got, in the order of the schedule.
  void AddTurn() {
    const bool table = plan_.embedding_home != EmbeddingHome::kHost;
    const IndexRange shards = table ? chunks_.embedding : chunks_.groups.front();
    const bool in_backward = job_.optimizer_place == OptimizerPlace::kInBackward;
    const bool after_step = job_.optimizer_place == OptimizerPlace::kAfterStep;
    const bool chunk_major = plan_.accumulation_order == AccumulationOrder::kChunkMajor;
    const int64_t fetched = chunk_major ? job_.accumulation : 1;

    // Backward visits the shards of a layer from last to first, those of the table from the first.
    const int32_t last = table ? shards.end - 1 : shards.begin;
    const Bytes arrived = chunks_.chunks[last].trained * ArrivingBytes();
    const int64_t gradient_left = Link(Lane::kD2h, arrived);
    const int64_t rows_left = gradient_left + fetched * Link(Lane::kD2h, model_.hidden_bytes());
    const Ends host = HostTurn(last, gradient_left, rows_left);

    // The host fetches the batch once it has the norms; after_step, once all is updated.
    int64_t batch = host.norms;
    for (int32_t c = 0; after_step && c < static_cast<int32_t>(chunks_.chunks.size()); ++c) {
      batch += AdamOf(c).nanoseconds;
    }
    const Bytes token_bytes = kTokenBytes * job_.micro_batch_tokens();
    batch += Host(token_bytes);
    int64_t h2d = batch + fetched * Link(Lane::kH2d, token_bytes);
    // Updates go in forward order: a table on the host is updated before the first layer. In
    // backward it is after, and only its last shard is sure to be still to come.
    int64_t updated = host.norms;
    if (in_backward) updated = std::max(host.table, gradient_left + AdamOf(last).nanoseconds);
    const IndexRange awaited{in_backward ? chunks_.embedding.end - 1 : chunks_.embedding.begin,
                             table ? 0 : chunks_.embedding.end};
    for (int32_t c = awaited.begin; c < awaited.end; ++c) updated += AdamOf(c).nanoseconds;
    if (!table) {
      const int64_t gathered = std::max(updated, batch) + Host(2 * model_.hidden_bytes());
      h2d = std::max(h2d, gathered) + fetched * Link(Lane::kH2d, model_.hidden_bytes());
    }
    const int64_t update = AdamOf(shards.begin).nanoseconds;
    if (!in_backward) {
      h2d = std::max(h2d, updated + update);
    } else if (last == shards.begin) {  // else it is updated while the last shard computes
      h2d = std::max(h2d, (table ? host.table : gradient_left) + update);
    }
    const Bytes first = each_.link * chunks_.chunks[shards.begin].parameters;
    adder_.SetTurn(h2d + Link(Lane::kH2d, first));
  }

  // The host's part of a turn in which the last gradient and the last rows have left the device at
  // these times: when the table's gradient is whole (without clip), and when the norm is known.
  struct Ends {
    int64_t table = 0;
    int64_t norms = 0;
  };
  Ends HostTurn(int32_t last, int64_t gradient_left, int64_t rows_left) const {
    const bool table = plan_.embedding_home != EmbeddingHome::kHost;
    const bool summed_apart = chunks_.tied && job_.accumulation > 1;
    const auto norm = [&](int32_t c) {
      return model_.Norm(KeptGradientBytes(c), plan_.host_threads).nanoseconds;
    };
    Ends ends{.table = gradient_left};
    if (KeepsGradient(chunks_, job_, plan_, last)) {
      ends.table += model_.Accumulate(AddedBytes(last), plan_.host_threads).nanoseconds;
    }
    ends.norms = ends.table + (table && summed_apart ? 0 : norm(last));
    // Rows are added to the table; shard after shard, each followed by its norm.
    for (int32_t c = chunks_.embedding.begin; c < chunks_.embedding.end && !table; ++c) {
      const bool clears = job_.accumulation == 1 && !chunks_.tied;
      ends.table = std::max(ends.norms, rows_left) +
                   Host(2 * model_.hidden_bytes() + (clears ? KeptGradientBytes(c) : 0_B));
      ends.norms = ends.table + (summed_apart ? 0 : norm(c));
    }
    for (int32_t c = chunks_.embedding.begin; c < chunks_.embedding.end && summed_apart; ++c) {
      ends.norms += Host(4_B * chunks_.chunks[c].trained + 2 * KeptGradientBytes(c)) + norm(c);
    }
    Bytes partials =
        (kLossBytes + RouterSumsBytes(chunks_)) * static_cast<uint64_t>(job_.accumulation);
    for (const Chunk& chunk : chunks_.chunks) {
      partials += 8_B * chunk.norm_blocks;
    }
    ends.norms += Host(partials);
    return ends;
  }

  OperationCost CopyOf(Lane lane, Bytes bytes) const {
    const int64_t threads = lane == Lane::kH2d ? plan_.h2d_threads : plan_.d2h_threads;
    return model_.Copy(lane, bytes, CostModel::Pages::kPinned, threads);
  }
  int64_t Link(Lane lane, Bytes bytes) const { return CopyOf(lane, bytes).nanoseconds; }
  int64_t Host(Bytes bytes) const { return model_.HostPass(bytes, plan_.host_threads).nanoseconds; }
  // A parameter's gradient as it arrives on the host.
  Bytes ArrivingBytes() const { return SummedOnDevice(job_, plan_) > 1 ? 4_B : each_.gradient; }
  // What adding the last contribution to a chunk's gradient moves: it is read, and what is kept
  // written, and read before where it is not the first.
  Bytes AddedBytes(int32_t c) const {
    const uint64_t trained = chunks_.chunks[c].trained;
    const bool table = chunks_.embedding.contains(c);
    const bool first = table && chunks_.tied && job_.accumulation == 1
                           ? false
                           : SummedOnDevice(job_, plan_) == job_.accumulation;
    return ArrivingBytes() * trained + (first ? 1 : 2) * KeptGradientBytes(c);
  }
  // A chunk's gradient as the norm and Adam read it.
  Bytes KeptGradientBytes(int32_t c) const {
    const bool kept = KeepsGradient(chunks_, job_, plan_, c);
    return chunks_.chunks[c].trained * (kept ? each_.kept_gradient : ArrivingBytes());
  }

  OperationCost AdamOf(int32_t c) const {
    const uint64_t trained = chunks_.chunks[c].trained;
    const Bytes state = (2_B + each_.low_half) * trained +
                        MomentBytes(job_.state_format, trained, chunks_.chunks[c].moment_blocks);
    return model_.Adam(trained, KeptGradientBytes(c) + 2 * state, plan_.optimizer_threads);
  }

  const TrainingJob& job_;
  const StreamPlan& plan_;
  const ChunkTable& chunks_;
  const CostModel& model_;
  const StrategyRules rules_;
  const ParameterBytes each_;
  BoundAdder adder_;
  OperationCost loss_;
  int32_t loss_chunk_ = -1;
  OperationKind loss_kind_ = OperationKind::kLoss;
  int64_t loss_tokens_ = 0;
  OperationCost load_;
  uint64_t loaded_parameters_ = 0;  // of the chunk that `load_` is the cost of
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
  const StrategyRules rules = RulesOf(job, plan);
  if (!rules.cuts_by_chunk_bytes && !rules.all_on_device) return {};
  return UnbuiltStep(job, plan, chunks, model).Bound();
}

std::vector<Overlap> ForwardOverlaps(const Schedule& schedule, const CostModel& model) {
  const ChunkTable& chunks = schedule.chunks;
  std::vector<Overlap> overlaps;
  for (int32_t c = chunks.layers.begin + 1; c < chunks.layers.end; ++c) {
    if (chunks.chunks[c].resident) continue;
    const Bytes bytes = BytesOfParameter(schedule.job).link * chunks.chunks[c].parameters;
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

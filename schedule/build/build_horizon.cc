#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/text/str_cat.h"
#include "schedule/build/pass_emitter.h"
#include "schedule/build/ring_assignment.h"
#include "schedule/build/run_items.h"
#include "schedule/build/strategies.h"

namespace horizon {
namespace {

// A pass of strategy `horizon`, phase by phase.
class HorizonPass {
 public:
  HorizonPass(const ModelSpec& spec, const BufferMap& map, Schedule& schedule)
      : map_(map), schedule_(schedule), emit_(spec, schedule, map) {
    items_ = train() ? TrainOrder(schedule.chunks, schedule.job, schedule.plan)
                     : ForwardOrder(schedule.chunks, schedule.job, schedule.plan, schedule.kind);
    std::vector<int32_t> streamed;
    for (const ComputeItem& item : items_) {
      if (item.uses_weights() && !chunk(item.chunk).resident) streamed.push_back(item.chunk);
    }
    ring_ = AssignRing(streamed, static_cast<int32_t>(map.ring.size()));
  }

  void Build() {
    schedule_.initial = emit_.InitialContents();
    schedule_.first = Step(Position::kFirst);
    schedule_.steady = Step(Position::kLater);
    emit_.writer().BeginPhase();
    if (behind_forward()) emit_.UpdateAll(1);
    schedule_.drain = emit_.writer().EndPhase();
    AddNotes();
  }

 private:
  enum class Position { kFirst, kLater };

  const Chunk& chunk(int32_t c) const { return schedule_.chunks.chunks[c]; }
  bool train() const { return schedule_.kind == PassKind::kTrain; }
  bool behind_forward() const {
    return train() && schedule_.job.optimizer_place == OptimizerPlace::kBehindForward;
  }

  bool after_step() const {
    return train() && schedule_.job.optimizer_place == OptimizerPlace::kAfterStep;
  }

  // No update changes this chunk, so that a copy of it stays true from step to step.
  bool lasts(int32_t c) const { return !train() || chunk(c).frozen(); }

  // Updates of the step before; before the first step, the resident chunks that are loaded once.
  void Prologue(Position position) {
    if (behind_forward() && position == Position::kLater) emit_.UpdateAll(1);
    if (position == Position::kLater) return;
    for (int32_t c = 0; c < static_cast<int32_t>(schedule_.chunks.chunks.size()); ++c) {
      if (map_.resident_weights[c] >= 0 && lasts(c)) {
        emit_.LoadChunk(c, map_.resident_weights[c]);
      }
    }
  }

  Phase Step(Position position) {
    emit_.writer().BeginPhase();
    Prologue(position);
    emit_.BeginBody();
    if (after_step()) emit_.NextBatchAwaitsUpdates();
    next_use_ = 0;
    layer_loads_.assign(schedule_.chunks.chunks.size(), 0);
    head_loads_.assign(schedule_.chunks.chunks.size(), 0);
    // Resident chunks that an update has changed cross once, when first used.
    refreshed_.assign(schedule_.chunks.chunks.size(), 0);
    for (size_t c = 0; c < refreshed_.size(); ++c) {
      refreshed_[c] = lasts(static_cast<int32_t>(c)) ? 1 : 0;
    }
    RunItems(items_, schedule_, map_.in_flight, emit_,
             [this](const ComputeItem& item) { return WeightsOf(item); });
    if (train()) {
      emit_.SumTiedTable();
      emit_.ClipFactor();
      if (after_step()) emit_.UpdateAll(0);
    }
    return emit_.writer().EndPhase();
  }

  BufferId WeightsOf(const ComputeItem& item) {
    const int32_t c = item.chunk;
    if (chunk(c).resident) {
      if (!refreshed_[c]) emit_.LoadChunk(c, map_.resident_weights[c]);
      refreshed_[c] = true;
      return map_.resident_weights[c];
    }
    const RingUse use = ring_[next_use_++];
    if (use.loads) LoadIntoRing(item, map_.ring[use.slot]);
    return map_.ring[use.slot];
  }

  void LoadIntoRing(const ComputeItem& item, BufferId slot) {
    const bool for_loss =
        item.kind == OperationKind::kLogSumExp || item.kind == OperationKind::kLoss;
    ++(for_loss ? head_loads_ : layer_loads_)[item.chunk];
    const bool backward =
        item.kind == OperationKind::kRecompute || item.kind == OperationKind::kBackward;
    if (schedule_.plan.backward_prefetch || !backward) return emit_.LoadChunk(item.chunk, slot);
    const std::array<int64_t, 1> computed = {emit_.last_compute()};
    emit_.LoadChunk(item.chunk, slot, computed);
  }

  // Notes say what the step really does: they are counted from its loads.
  void AddNotes() {
    if (!train()) return;
    const bool chunk_major = schedule_.plan.accumulation_order == AccumulationOrder::kChunkMajor;
    NoteLoads(chunk_major ? 1 : static_cast<int32_t>(schedule_.job.accumulation));
    const auto trained =
        std::count_if(schedule_.chunks.chunks.begin(), schedule_.chunks.chunks.end(),
                      [](const Chunk& chunk) { return !chunk.frozen(); });
    if (schedule_.job.optimizer_place == OptimizerPlace::kInBackward && trained > 1) {
      schedule_.notes.push_back(
          "in-backward updates chunks before all gradients are known: a gradient that is not "
          "finite is found after some chunks have changed");
    }
  }

  // `passes` is how often a step goes forward and backward through the model.
  void NoteLoads(int32_t passes) {
    const ChunkTable& chunks = schedule_.chunks;
    const auto above = [&](IndexRange range, const std::vector<int32_t>& loads, int32_t times) {
      int32_t count = 0;
      for (int32_t c = range.begin; c < range.end; ++c) count += loads[c] > times * passes ? 1 : 0;
      return count;
    };
    const auto depth = static_cast<int32_t>(map_.ring.size());
    if (const int32_t often = above(chunks.layers, layer_loads_, 2); often > 0) {
      schedule_.notes.push_back(
          StrCat("the ring of ", depth, depth == 1 ? " slot" : " slots",
                 " cannot hold a recompute block: ", often, " of ", chunks.layers.size(),
                 " layer chunks cross the link three times a pass instead of twice"));
    }
    if (const int32_t twice = above(chunks.head, head_loads_, 1); twice > 0) {
      schedule_.notes.push_back(StrCat("the head is cut into ", chunks.head.size(),
                                       " shards: ", twice,
                                       " of them cross the link twice for a loss, since "
                                       "log-sum-exp needs all shards first"));
    }
  }

  const BufferMap& map_;
  Schedule& schedule_;
  PassEmitter emit_;
  std::vector<ComputeItem> items_;
  std::vector<RingUse> ring_;
  size_t next_use_ = 0;
  std::vector<char> refreshed_;       // by chunk
  std::vector<int32_t> layer_loads_;  // of the last step, into the ring, by chunk
  std::vector<int32_t> head_loads_;   // the same for the loss
};

}  // namespace

void BuildHorizon(const ModelSpec& spec, const BufferMap& map, Schedule& schedule) {
  HorizonPass(spec, map, schedule).Build();
}

}  // namespace horizon

#include <array>

#include "schedule/pass_emitter.h"
#include "schedule/run_items.h"
#include "schedule/strategies.h"

namespace horizon {
namespace {

class Reference {
 public:
  Reference(const ModelSpec& spec, const BufferMap& map, Schedule& schedule)
      : map_(map),
        schedule_(schedule),
        emit_(spec, schedule, map),
        items_(schedule.kind == PassKind::kTrain
                   ? ReferenceOrder(schedule.chunks, schedule.job, schedule.plan)
                   : ForwardOrder(schedule.chunks, schedule.job, schedule.plan, schedule.kind)) {}

  void Build() {
    schedule_.initial = emit_.InitialContents();
    schedule_.first = Step();
    schedule_.steady = Step();
  }

 private:
  Phase Step() {
    emit_.writer().BeginPhase();
    emit_.BeginBody();
    next_slot_ = 0;
    refreshed_.assign(schedule_.chunks.chunks.size(), 0);
    RunItems(items_, schedule_, map_.in_flight, emit_,
             [this](const ComputeItem& item) { return WeightsOf(item); });
    if (schedule_.kind == PassKind::kTrain) {
      emit_.SumTiedTable();
      emit_.ClipFactor();
      if (schedule_.job.clip_norm > 0) emit_.ClipGradients();
      emit_.UpdateAll(0);
    }
    return emit_.writer().EndPhase();
  }

  BufferId WeightsOf(const ComputeItem& item) {
    const int32_t c = item.chunk;
    if (schedule_.chunks.chunks[c].resident) {
      if (!refreshed_[c]) emit_.LoadChunk(c, map_.resident_weights[c]);
      refreshed_[c] = 1;
      return map_.resident_weights[c];
    }
    // The layer just forwarded again is the one whose backward comes next.
    if (item.kind == OperationKind::kBackward) return last_slot_;
    const size_t slot = next_slot_++ % map_.ring.size();
    last_slot_ = map_.ring[slot];
    // In backward a layer is packed and loaded only when the one before has been computed.
    const std::array<int64_t, 1> previous = {emit_.last_compute()};
    const bool prefetches = item.kind == OperationKind::kForward;
    emit_.PackAndLoadChunk(
        c, map_.pack_slabs[slot], last_slot_,
        prefetches ? std::span<const int64_t>() : std::span<const int64_t>(previous));
    return last_slot_;
  }

  const BufferMap& map_;
  Schedule& schedule_;
  PassEmitter emit_;
  std::vector<ComputeItem> items_;
  size_t next_slot_ = 0;
  BufferId last_slot_ = -1;
  std::vector<char> refreshed_;  // by chunk
};

}  // namespace

void BuildReference(const ModelSpec& spec, const BufferMap& map, Schedule& schedule) {
  if (schedule.kind == PassKind::kSave) return BuildHorizon(spec, map, schedule);
  Reference(spec, map, schedule).Build();
}

}  // namespace horizon

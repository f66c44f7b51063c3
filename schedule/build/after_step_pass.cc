#include "schedule/build/after_step_pass.h"

#include <array>
#include <span>

#include "common/check.h"
#include "schedule/build/pass_emitter.h"
#include "schedule/build/run_items.h"
#include "schedule/strategy_rules.h"

namespace horizon {
namespace {

bool UsesLayer(const ComputeItem& item, const ChunkTable& chunks) {
  return item.uses_weights() && !chunks.chunks[item.chunk].resident;
}

class AfterStepPass {
 public:
  AfterStepPass(const ModelSpec& spec, const BufferMap& map, const std::vector<ComputeItem>& items,
                const std::vector<RingUse>& uses, const Schedule& schedule)
      : map_(map),
        items_(items),
        uses_(uses),
        schedule_(schedule),
        rules_(RulesOf(schedule.job, schedule.plan)),
        emit_(spec, schedule, map) {}

  PassEmitter& emit() { return emit_; }

  Phase Step() {
    emit_.writer().BeginPhase();
    emit_.BeginBody();
    emit_.NextBatchAwaitsUpdates();
    next_use_ = 0;
    refreshed_.assign(schedule_.chunks.chunks.size(), 0);
    RunItems(items_, schedule_, map_.in_flight, emit_,
             [this](const ComputeItem& item) { return WeightsOf(item); });
    if (schedule_.kind == PassKind::kTrain) {
      emit_.SumTiedTable();
      emit_.ClipFactor();
      if (rules_.clips_in_own_pass) emit_.ClipGradients();
      emit_.UpdateAll(0);
    }
    return emit_.writer().EndPhase();
  }

 private:
  BufferId WeightsOf(const ComputeItem& item) {
    const int32_t c = item.chunk;
    const std::array<int64_t, 1> computed = {emit_.last_compute()};
    const std::span<const int64_t> after = rules_.loads_await_compute
                                               ? std::span<const int64_t>(computed)
                                               : std::span<const int64_t>();
    if (!UsesLayer(item, schedule_.chunks)) {
      if (!refreshed_[c]) emit_.LoadChunk(c, map_.resident_weights[c], after);
      refreshed_[c] = 1;
      return map_.resident_weights[c];
    }
    const RingUse use = uses_[next_use_++];
    const BufferId slot = map_.ring[use.slot];
    if (use.loads && map_.staging_buffers.empty()) emit_.LoadChunk(c, slot, after);
    if (use.loads && !map_.staging_buffers.empty()) {
      emit_.PackAndLoadChunk(c, map_.staging_buffers[use.slot], slot, after);
    }
    return slot;
  }

  const BufferMap& map_;
  const std::vector<ComputeItem>& items_;
  const std::vector<RingUse>& uses_;
  const Schedule& schedule_;
  const StrategyRules rules_;
  PassEmitter emit_;
  size_t next_use_ = 0;
  std::vector<char> refreshed_;  // by chunk
};

}  // namespace

std::vector<ComputeItem> LayerUses(const std::vector<ComputeItem>& items,
                                   const ChunkTable& chunks) {
  std::vector<ComputeItem> layers;
  for (const ComputeItem& item : items) {
    if (UsesLayer(item, chunks)) layers.push_back(item);
  }
  return layers;
}

void BuildAfterStepPass(const ModelSpec& spec, const BufferMap& map,
                        const std::vector<ComputeItem>& items, const std::vector<RingUse>& uses,
                        Schedule& schedule) {
  CHECK(uses.size() == LayerUses(items, schedule.chunks).size());
  AfterStepPass pass(spec, map, items, uses, schedule);
  schedule.initial = pass.emit().InitialContents();
  schedule.first = pass.Step();
  schedule.steady = pass.Step();
}

}  // namespace horizon

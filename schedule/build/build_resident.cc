#include "schedule/build/pass_emitter.h"
#include "schedule/build/run_items.h"
#include "schedule/build/strategies.h"

namespace horizon {

void BuildResident(const ModelSpec& spec, const BufferMap& map, Schedule& schedule) {
  const bool train = schedule.kind == PassKind::kTrain;
  PassEmitter emit(spec, schedule, map);
  const std::vector<ComputeItem> items =
      train ? TrainOrder(schedule.chunks, schedule.job, schedule.plan)
            : ForwardOrder(schedule.chunks, schedule.job, schedule.plan, schedule.kind);
  const auto step = [&] {
    emit.writer().BeginPhase();
    emit.BeginBody();
    RunItems(items, schedule, map.in_flight, emit, [&](const ComputeItem& item) {
      const BufferId copy = map.resident_weights[item.chunk];
      return copy >= 0 ? copy : map.weights_hi[item.chunk];
    });
    if (train) {
      emit.SumTiedTable();
      emit.ClipFactor();
      // One lane does all, so there is nothing an update could hide behind.
      if (schedule.job.optimizer_place != OptimizerPlace::kInBackward) emit.UpdateAll(0);
    }
    return emit.writer().EndPhase();
  };
  schedule.initial = emit.InitialContents();
  schedule.first = step();
  schedule.steady = step();
}

}  // namespace horizon

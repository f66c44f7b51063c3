#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The plans a search looks at: a list of values for each field of StreamPlan. A field that was set
// by hand has one value.

// As many chunks as the device has room for beside everything else; a choice of resident_chunks.
inline constexpr int64_t kAsManyAsFit = -1;

struct PlanThreads {
  int64_t compute = 1;
  int64_t host = 1;
  int64_t optimizer = 1;
  friend bool operator==(const PlanThreads&, const PlanThreads&) = default;
};

struct PlanSpace {
  StreamPlan base;  // fields without a list below
  std::vector<Bytes> chunk_bytes;
  std::vector<int64_t> buffer_depth;
  std::vector<int64_t> resident_chunks;
  std::vector<int64_t> anchor_interval;
  std::vector<AnchorHome> anchor_home;
  std::vector<bool> recompute;
  std::vector<int64_t> gradient_slabs;
  std::vector<AccumulationOrder> accumulation_order;
  std::vector<int64_t> loss_chunk_tokens;
  std::vector<EmbeddingHome> embedding_home;
  std::vector<PlanThreads> threads;
};

// The values worth looking at for a model on a machine, those most often good first. `fixed` holds
// the strategy and the values of the fields named in `fixed_fields` (as in a plan file).
PlanSpace SpaceFor(const ModelSpec& spec, const TrainingJob& job, const HardwareProfile& profile,
                   const StreamPlan& fixed, const std::vector<std::string>& fixed_fields);

// One plan of each kind, for quick estimates: the few values that matter most.
PlanSpace CoarseSpace(PlanSpace space);

// The plans that need the least memory.
PlanSpace FrugalSpace(PlanSpace space);

// Calls `visit` with every plan of the space in a fixed order, those that differ in a field which
// does not matter (the anchors of a plan without recompute) once. resident_chunks may be
// kAsManyAsFit.
void ForEachPlan(const PlanSpace& space, const std::function<void(const StreamPlan&)>& visit);

}  // namespace horizon

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

// The space of plans that a search tries: a list of values for each field of StreamPlan. A field
// that the user has set has one value.

// A value of resident_chunks: as many chunks as the device has room for beside everything else.
inline constexpr int64_t kAsManyAsFit = -1;

// How the threads of a plan are divided among its lanes.
struct PlanThreads {
  int64_t compute = 1;
  int64_t host = 1;
  int64_t optimizer = 1;
  friend bool operator==(const PlanThreads&, const PlanThreads&) = default;
};

// The values to try for each field.
struct PlanSpace {
  StreamPlan base;  // values of the fields that have no list below
  std::vector<Bytes> chunk_bytes;
  std::vector<int64_t> buffer_depth;
  std::vector<int64_t> resident_chunks;
  std::vector<int64_t> anchor_interval;
  std::vector<AnchorHome> anchor_home;
  std::vector<bool> recompute;
  std::vector<bool> keep_feed_forward = {true};
  // A micro-batch is several pieces of tokens. In one piece, and with recompute blocks of one
  // layer, gate and up exist once either way; then the first value of keep_feed_forward alone is
  // tried.
  bool several_pieces = false;
  std::vector<int64_t> gradient_slabs;
  std::vector<AccumulationOrder> accumulation_order;
  std::vector<int64_t> loss_chunk_tokens;
  std::vector<EmbeddingHome> embedding_home;
  std::vector<PlanThreads> threads;
};

// The values worth trying for a model on a machine; those that are good most often come first.
// `fixed` holds the strategy and the values of the fields named in `fixed_fields` (as in a plan
// file).
PlanSpace SpaceFor(const ModelSpec& spec, const TrainingJob& job, const HardwareProfile& profile,
                   const StreamPlan& fixed, const std::vector<std::string>& fixed_fields);

// A smaller space for quick estimates: only the few values of each field that matter most.
PlanSpace CoarseSpace(PlanSpace space);

// The part of the space that needs the least memory. If none of its plans fits, no plan does.
PlanSpace FrugalSpace(PlanSpace space);

// Calls `visit` with every plan of the space in a fixed order. Plans that differ only in a field
// without effect (activation checkpoints in a plan without recompute) are visited once.
// resident_chunks may be kAsManyAsFit.
void ForEachPlan(const PlanSpace& space, const std::function<void(const StreamPlan&)>& visit);

}  // namespace horizon

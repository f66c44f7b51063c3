#pragma once

#include <cstdint>

#include "common/units.h"
#include "schedule/buffer.h"
#include "schedule/operation.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// What tells the strategies apart, as one value: where things live, what is cut how, what may
// overlap with what. Chunk table, layout, builders and bounds read these rules and never ask which
// strategy a plan names. (The verifier does not read them: it has rules of its own.)
struct StrategyRules {
  // --- where things live ---
  bool all_on_device = false;        // nothing streams (`resident`)
  Memory weights = Memory::kPinned;  // high halves, as loads read them
  Memory state = Memory::kHost;      // low halves that no load reads, and moments
  Memory kept_gradients = Memory::kPinned;
  Memory norm_partials = Memory::kHost;
  bool head_on_device = false;  // it stays there within a pass
  // Of each parameter: what a framework keeps in pinned memory beside the state.
  Bytes framework_bytes;

  // --- how the model is cut ---
  // Stages are packed into chunks of chunk_bytes, and cut where they are larger. Otherwise each
  // layer is a chunk.
  bool cuts_by_chunk_bytes = false;
  // chunk_major order loads a block once for all micro-batches, so the ring has to hold it.
  bool ring_holds_block = false;

  // --- loads ---
  bool packs_before_loading = false;  // on the host, into a slab of its own
  // Nothing is loaded (or packed) before everything computed so far has ended.
  bool loads_await_compute = false;

  // --- recompute ---
  // A block is recomputed twice: first its hidden states alone, which are kept in stages, then each
  // layer once more just before its backward (as the published implementation does it).
  bool recomputes_layer_by_layer = false;

  // --- gradients and updates ---
  Lane gradient_lane = Lane::kHost;  // accumulates, takes norms
  Lane clip_lane = Lane::kHost;      // computes the clip factor
  Lane optimizer_lane = Lane::kOptimizer;
  bool gradients_leave = true;  // over the link, through slabs
  bool table_slabs = false;     // those of embedding and head through slabs of their own
  // Compute does not go on before the gradient has been accumulated.
  bool compute_awaits_layer_gradients = false;
  bool compute_awaits_table_gradients = false;
  // The kept gradients are clipped by a pass of their own before Adam reads them.
  bool clips_in_own_pass = false;
  // Weights are updated by a device that works after the call, so what an update cannot represent
  // comes back over the link and is looked at behind it.
  bool update_faults_come_late = false;
};

StrategyRules RulesOf(const TrainingJob& job, const StreamPlan& plan);

}  // namespace horizon

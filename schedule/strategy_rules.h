#pragma once

#include <cstdint>

#include "common/units.h"
#include "schedule/buffer.h"
#include "schedule/operation.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// The differences between strategies as one value: where data is stored, how the model is cut, and
// what may overlap. Chunk table, layout, builders and bounds read these rules and never test which
// strategy a plan names. (The verifier does not read them: it has rules of its own.)
struct StrategyRules {
  // --- where data is stored ---
  bool all_on_device = false;        // nothing is streamed (`resident`)
  Memory weights = Memory::kPinned;  // the halves of the master weights that loads read
  Memory state = Memory::kHost;      // moments, and low halves that loads do not read
  Memory kept_gradients = Memory::kPinned;
  Memory norm_partials = Memory::kHost;
  bool head_on_device = false;  // the head stays on the device within a pass
  // Pinned bytes that a framework keeps for each parameter beside the optimizer state.
  Bytes framework_bytes;

  // --- how the model is cut --- Stages are packed into chunks of at most chunk_bytes, and cut into
  // shards where they are larger. Otherwise each layer is a chunk.
  bool cuts_by_chunk_bytes = false;
  // chunk_major order loads a recompute block once for all micro-batches, so the ring must hold it.
  bool ring_holds_block = false;

  // --- loads ---
  bool packs_before_loading = false;  // the host first copies a chunk into a staging buffer
  // A chunk is loaded (or packed) only after all compute before it has ended.
  bool loads_await_compute = false;

  // --- recompute --- A recompute block is recomputed twice, as in the published implementation:
  // first only its hidden states, which are kept (BufferMap::anchor_stages), then each layer just
  // before its backward.
  bool recomputes_layer_by_layer = false;
  // Recompute leaves out what only the output of a block needs. Autograd of a framework runs all of
  // forward again.
  bool recomputes_kept_alone = false;

  // --- gradients and updates ---
  Lane gradient_lane = Lane::kHost;  // accumulates gradients and computes their norms
  Lane clip_lane = Lane::kHost;      // computes the clip factor
  Lane optimizer_lane = Lane::kOptimizer;
  bool gradients_leave = true;  // they are copied to the host, through gradient slabs
  bool table_slabs = false;     // embedding and head have gradient slabs of their own
  // Compute continues only after the gradient (of a layer; of embedding or head) is accumulated.
  bool compute_awaits_layer_gradients = false;
  bool compute_awaits_table_gradients = false;
  // A separate pass clips the kept gradients before Adam reads them.
  bool clips_in_own_pass = false;
  // The device updates the weights asynchronously. So the report of weights that an update could
  // not represent is copied back over the PCIe link, and the host checks it later.
  bool update_faults_come_late = false;
};

StrategyRules RulesOf(const TrainingJob& job, const StreamPlan& plan);

}  // namespace horizon

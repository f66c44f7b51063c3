#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/documents/enum_words.h"
#include "schedule/buffer.h"
#include "schedule/chunk_table.h"
#include "schedule/operation.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// A Schedule is the work of a pass as data: every operation, the buffers it touches and what it
// waits for. The runtime executes it on a device and the simulator executes it on a hardware
// profile; neither adds operations.
//
// A pass is repeated: `first` runs once, `steady` any number of times after it, and `drain` once at
// the end. A step (first or steady) is a prologue followed by a body. The bodies of first and
// steady have the same operations in the same order, so that a wait can name an operation of the
// step before by its place in the body. Steps overlap: only waits and the order of lanes separate
// them. Before a pass of another kind starts, all lanes are idle.
//
// The operations are listed in an order in which they could run one at a time. Each lane runs its
// operations in that order.

// What a pass does.
enum class PassKind { kTrain, kEvaluate, kPrefill, kDecode };
std::span<const EnumWord<PassKind>> WordsOf(PassKind);

// The operations of one step, or of the drain.
struct Phase {
  std::vector<Operation> operations;
  std::vector<Access> access_pool;
  std::vector<Wait> wait_pool;
  OperationId body_begin = 0;  // the operations before it are the prologue

  std::span<const Access> AccessesOf(const Operation& operation) const {
    return std::span(access_pool)
        .subspan(operation.accesses.begin, operation.accesses.end - operation.accesses.begin);
  }
  std::span<const Wait> WaitsOf(const Operation& operation) const {
    return std::span(wait_pool).subspan(operation.waits.begin,
                                        operation.waits.end - operation.waits.begin);
  }
};

// All memory that a pass uses, fixed before it runs. The verifier, the simulator and the runtime
// use the same layout.
struct MemoryLayout {
  std::vector<Buffer> buffers;
  MemoryTotals totals{};  // end of the last buffer in each memory
};

// The schedule of one pass.
struct Schedule {
  PassKind kind = PassKind::kTrain;
  TrainingJob job;
  StreamPlan plan;
  ChunkTable chunks;
  MemoryLayout memory;
  // What the lasting buffers (weights, moments, ...) hold before `first`. `age` is the age that a
  // reader in `first` finds.
  std::vector<Access> initial;
  Phase first;
  Phase steady;
  Phase drain;
  // Remarks for people: "the ring of 2 slots cannot hold a block of 3 chunks: ...".
  std::vector<std::string> notes;

  // Names for people: "backward attention_3..feed_forward_4, micro-batch 2", "ring slot 1
  // (device)".
  std::string NameOf(const Operation& operation) const;
  std::string NameOf(const Buffer& buffer) const;
  std::string NameOf(const Content& content) const;
};

}  // namespace horizon

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

// The work of a pass as data. The runtime executes this object on a device, the simulator on a
// hardware profile; neither makes up an operation of its own.
//
// A pass is repeated: `first` runs once, `steady` any number of times after it, `drain` when the
// repetition ends. A step (first or steady) is a prologue followed by the body, and the body of
// both has the same operations in the same order, so a wait that reaches one step back names its
// operation by the place in the body. Steps overlap: nothing but waits and lane order separates
// them. Before a pass of another kind all lanes are idle.
//
// Operations stand in an order in which they could run one by one; a lane's order is that order
// restricted to the lane.

enum class PassKind { kTrain, kEvaluate, kPrefill, kDecode };
std::span<const EnumWord<PassKind>> WordsOf(PassKind);

struct Phase {
  std::vector<Operation> operations;
  std::vector<Access> access_pool;
  std::vector<Wait> wait_pool;
  OperationId body_begin = 0;

  std::span<const Access> AccessesOf(const Operation& operation) const {
    return std::span(access_pool)
        .subspan(operation.accesses.begin, operation.accesses.end - operation.accesses.begin);
  }
  std::span<const Wait> WaitsOf(const Operation& operation) const {
    return std::span(wait_pool).subspan(operation.waits.begin,
                                        operation.waits.end - operation.waits.begin);
  }
};

// All bytes a pass uses, fixed before it runs: what is verified, simulated and allocated.
struct MemoryLayout {
  std::vector<Buffer> buffers;
  MemoryTotals totals{};  // end of the last buffer in each memory
};

struct Schedule {
  PassKind kind = PassKind::kTrain;
  TrainingJob job;
  StreamPlan plan;
  ChunkTable chunks;
  MemoryLayout memory;
  // What the lasting buffers hold before `first`; `age` as a reader of `first` sees it.
  std::vector<Access> initial;
  Phase first;
  Phase steady;
  Phase drain;
  // What a person should know of this schedule ("the ring cannot hold a block: ...").
  std::vector<std::string> notes;

  // "backward attention_3..feed_forward_4, micro-batch 2", "ring slot 1 (device)".
  std::string NameOf(const Operation& operation) const;
  std::string NameOf(const Buffer& buffer) const;
  std::string NameOf(const Content& content) const;
};

}  // namespace horizon

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/kernel_table.h"
#include "model/model_spec.h"
#include "runtime/layer_template.h"
#include "runtime/run_memory.h"
#include "runtime/step.h"
#include "schedule/schedule.h"

namespace horizon {

// FailedPrecondition (naming what, and what to change) for schedules the runtime has no bodies for:
// simulated-only strategies, experts, a layer stage cut into shards, ...
absl::Status CheckRunnable(const ModelSpec& spec, const Schedule& schedule);

// What each operation of a schedule does with the memory it names: which buffer holds what is read
// from the operation's own accesses, so that nothing is decided here. All calls are const and may
// be made from several lanes at once; each writes only what its operation says it writes. What it
// is made from outlives it.
class OperationBodies {
 public:
  OperationBodies(const ModelSpec& spec, const Schedule& schedule, const RunMemory& memory);

  // One operation of one step. `previous` is the step before (its update may be due in this one);
  // `result` is where the clip factor's operation reports.
  struct Call {
    const Phase& phase;
    const Operation& operation;
    const StepInput& input;
    const StepInput& previous;
    const StepResult* before;  // of the step before, complete up to its clip factor; null: none
    StepResult& result;
  };

  // A copy over the link, for the operations that are nothing else.
  struct Transfer {
    std::byte* device = nullptr;
    std::byte* host = nullptr;
    uint64_t bytes = 0;
  };
  bool IsTransfer(OperationKind kind) const;
  Transfer TransferOf(const Call& call) const;

  // The step whose gradient an update (kAdam) takes: this one or the one before.
  static int64_t StepOfUpdate(const Call& call);

  // Every other operation, on the calling thread, with these kernels.
  absl::Status Run(const Call& call, const KernelTable& kernels,
                   const KernelContext& context) const;

  // The tensors of the model in the order of StepResult::norms.
  const std::vector<std::string>& TensorNames() const { return tensor_names_; }

 private:
  class Body;
  friend class Body;

  const ModelSpec& spec_;
  const Schedule& schedule_;
  const RunMemory& memory_;
  const ParameterBytes each_;
  std::vector<std::string> tensor_names_;
};

}  // namespace horizon

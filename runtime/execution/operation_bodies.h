#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "common/units.h"
#include "kernels/kernel_table.h"
#include "model/model_spec.h"
#include "runtime/device/device.h"
#include "runtime/execution/layer_template.h"
#include "runtime/execution/run_memory.h"
#include "runtime/execution/stage_template.h"
#include "runtime/execution/step.h"
#include "schedule/schedule.h"

namespace horizon {

// What each operation of a schedule does with the memory it names. A body reaches memory through
// the accesses of its operation and in no other way: which buffer holds what, and that nobody else
// touches it meanwhile, is decided and proven before anything runs. All calls are const and may be
// made from several lanes at once. What it is made from outlives it.
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
    Bytes bytes;
  };
  bool IsTransfer(OperationKind kind) const;
  Transfer TransferOf(const Call& call) const;

  // The device memory that an operation declares, each buffer once.
  std::vector<KernelMemory> DeviceMemoryOf(const Call& call) const;

  // The memory that kernels of a lane's operations work in beside their arguments; empty: none of
  // them declares any.
  std::span<std::byte> ScratchOf(Lane lane) const;

  // The step whose gradient an update (kAdam) takes: this one or the one before.
  static int64_t StepOfUpdate(const Call& call);

  // Every other operation, on the calling thread, with these kernels.
  absl::Status Run(const Call& call, const KernelTable& kernels,
                   const KernelContext& context) const;

  // The trained tensors of the model in the order of StepResult::norms.
  const std::vector<std::string>& TensorNames() const { return tensor_names_; }

 private:
  class Body;
  friend class Body;

  const ModelSpec& spec_;
  const Schedule& schedule_;
  const std::span<const BufferPlace> places_;  // by buffer
  const ParameterBytes each_;
  // Positions that the rotary table, and so a cache, was made for: the sequence of the first of the
  // passes that share them.
  int64_t positions_ = 0;
  const StageTemplates templates_;
  std::vector<std::string> tensor_names_;
};

}  // namespace horizon

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

// Implements the operations of a schedule: what each one does with the buffers it names. A body
// reaches memory only through the accesses of its operation. Which buffer holds what, and that
// nothing else touches it meanwhile, is decided and verified before anything runs. All calls are
// const and may be made from several lanes at once. Everything passed to the constructor outlives
// this object.
class OperationBodies {
 public:
  OperationBodies(const ModelSpec& spec, const Schedule& schedule, const RunMemory& memory);

  // One operation of one step.
  struct Call {
    const Phase& phase;
    const Operation& operation;
    const StepInput& input;
    const StepInput& previous_input;  // of the step before, since its update may be due in this one
    // Of the step before, complete up to its clip factor; null in the first step.
    const StepResult* previous_result;
    StepResult& result;  // written by the operations kClipFactor and kReport
  };

  // A copy over the link. Some operations are nothing but such a copy (IsTransfer).
  struct Transfer {
    std::byte* device = nullptr;
    std::byte* host = nullptr;
    Bytes bytes;
  };
  bool IsTransfer(OperationKind kind) const;
  Transfer TransferOf(const Call& call) const;

  // The device memory that an operation declares to read or write, each buffer once.
  std::vector<KernelMemory> DeviceMemoryOf(const Call& call) const;

  // The scratch memory that the kernels of a lane use beside their arguments; empty when none of
  // the lane's operations declares any.
  std::span<std::byte> ScratchOf(Lane lane) const;

  // The number of the step whose gradient an update (kAdam) applies: this step or the one before.
  static int64_t StepOfUpdate(const Call& call);

  // Runs an operation that is not a transfer, on the calling thread, with these kernels.
  absl::Status Run(const Call& call, const KernelTable& kernels,
                   const KernelContext& context) const;

  // The names of the trained tensors, in the order of StepResult::norms.
  const std::vector<std::string>& TensorNames() const { return tensor_names_; }

 private:
  class Body;
  friend class Body;

  const ModelSpec& spec_;
  const Schedule& schedule_;
  const std::span<const BufferPlace> places_;  // indexed by buffer
  const ParameterBytes each_;
  // The number of positions that the rotary table, and so the KV cache, were made for: the sequence
  // length of the first of the passes that share them.
  int64_t positions_ = 0;
  const StageTemplates templates_;
  std::vector<std::string> tensor_names_;  // of the trained tensors, in the model's order
  // For each slice of a trained tensor, in the order of the chunks: which of them it belongs to.
  std::vector<int32_t> tensor_of_slice_;
};

}  // namespace horizon

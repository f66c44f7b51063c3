#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/device_option.h"
#include "app/options/option.h"
#include "common/units.h"
#include "model/chat/chat_encoder.h"
#include "model/model_spec.h"
#include "model/tokenizer/load_tokenizer.h"
#include "runtime/execution/compute_device.h"
#include "runtime/execution/run_environment.h"
#include "runtime/inference/inference_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// The options of commands that use a model without changing it: the device, its memory, the number
// format and the threads.
struct InferenceFlags {
  std::string device = "auto";
  std::string compute = "bf16";
  std::optional<Bytes> device_memory;
  std::optional<BytesPerSecond> link;
  std::optional<int64_t> threads;

  void AddTo(OptionList& list);
  NumberType compute_type() const;
};

// An inference plan and a device opened with the memory that the plan needs.
struct InferencePlace {
  InferencePlan plan;
  ComputeDevice device;

  RunEnvironment Environment(const CommandContext& context) const;
};
// Chooses the plan for this machine, logs it and opens the device. Errors of ReadHostLimits,
// PlanInference and OpenComputeDevice.
absl::StatusOr<InferencePlace> PrepareInference(const CommandContext& context,
                                                const InferenceFlags& flags,
                                                const ChosenDevice& device, const ModelSpec& spec,
                                                const InferenceBytesOf& bytes_of);

// The token ids that end an answer: eos_token_id (a number or a list) of the folder's
// generation_config.json and config.json, the tokenizer's end of text, and the token that ends an
// answer in `chat` (null: no chat). Sorted and unique. InvalidArgument, with the file's name, if
// one of the files is not JSON; Io's errors.
absl::StatusOr<std::vector<int32_t>> EndIdsOf(Io& io, const std::string& folder,
                                              const ModelTokenizer& tokenizer,
                                              const ChatEncoder* chat);

}  // namespace horizon

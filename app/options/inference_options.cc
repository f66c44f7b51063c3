#include "app/options/inference_options.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "planner/profile/host/host_limits.h"

namespace horizon {
namespace {

// Of the memory that is free now, what is left to everybody else: an eighth.
Bytes Usable(const HostLimits& limits) {
  const Bytes bytes = limits.free_memory();
  return bytes - bytes / 8;
}

void AddIds(const Value* value, std::vector<int32_t>& ids) {
  if (value == nullptr) return;
  if (const int64_t* id = value->As<int64_t>()) {
    if (*id >= 0 && *id <= std::numeric_limits<int32_t>::max()) {
      ids.push_back(static_cast<int32_t>(*id));
    }
  } else if (const Value::Array* list = value->As<Value::Array>()) {
    for (const Value& each : *list) {
      if (each.As<int64_t>() != nullptr) AddIds(&each, ids);
    }
  }
}

}  // namespace

void InferenceFlags::AddTo(OptionList& list) {
  const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
  add(DeviceOption(device));
  add({.name = "compute",
       .value = &compute,
       .unit = "type",
       .help = "Number format of the weights as compute reads them",
       .choices = {"bf16", "fp32"},
       .group = "Device and memory"});
  add({.name = "device-memory",
       .value = &device_memory,
       .unit = "bytes",
       .help =
           "Device memory to use; weights that do not fit are streamed (default all that is free)",
       .minimum = 1,
       .group = "Device and memory"});
  add({.name = "link",
       .value = &link,
       .unit = "bytes/s",
       .help = "Limit copy bandwidth in each direction, such as 5GB/s (host device only)",
       .group = "Device and memory"});
  add({.name = "threads",
       .value = &threads,
       .unit = "threads",
       .help = "CPU threads that compute (default one per core)",
       .minimum = 1,
       .maximum = 1024,
       .group = "Device and memory"});
}

NumberType InferenceFlags::compute_type() const {
  return compute == "fp32" ? NumberType::kFp32 : NumberType::kBf16;
}

RunEnvironment InferencePlace::Environment(const CommandContext& context) const {
  return {.device = *device.device,
          .kernels = *device.kernels,
          .clock = context.clock,
          .device_context = device.context.get()};
}

absl::StatusOr<InferencePlace> PrepareInference(const CommandContext& context,
                                                const InferenceFlags& flags,
                                                const ChosenDevice& device, const ModelSpec& spec,
                                                const InferenceBytesOf& bytes_of) {
  ASSIGN_OR_RETURN(const HostLimits host, ReadHostLimits(context.io));
  InferenceLimits limits{.threads = flags.threads.value_or(host.cores)};
  if (device.name.kind == DeviceKind::kHost) {
    limits.sum = Usable(host);
  } else {
    limits.host = Usable(host);
    limits.device = device.usable_bytes();
  }
  if (flags.device_memory.has_value()) limits.device = flags.device_memory;
  InferencePlace place;
  ASSIGN_OR_RETURN(place.plan, PlanInference(spec, flags.compute_type(), limits, bytes_of));
  context.log.Info(StrCat(spec.name, ": ", place.plan.summary));
  ASSIGN_OR_RETURN(place.device, OpenComputeDevice({.name = device.name,
                                                    .capacity = place.plan.bytes.device,
                                                    .link = flags.link,
                                                    .clock = context.clock,
                                                    .log = &context.log}));
  return place;
}

absl::StatusOr<std::vector<int32_t>> EndIdsOf(Io& io, const std::string& folder,
                                              const ModelTokenizer& tokenizer,
                                              const ChatEncoder* chat) {
  std::vector<int32_t> ids;
  if (tokenizer.end_id.has_value()) ids.push_back(*tokenizer.end_id);
  if (chat != nullptr) {
    const std::optional<int32_t> end = chat->EndOfAnswer();
    if (end.has_value()) ids.push_back(*end);
  }
  for (const char* name : {"generation_config.json", "config.json"}) {
    const std::string path = JoinPath(folder, name);
    const absl::StatusOr<std::string> text = ReadTextFile(io, path, 1_MiB);
    if (absl::IsNotFound(text.status())) continue;
    RETURN_IF_ERROR(text.status());
    ASSIGN_OR_RETURN(const Document document, ParseJson(path, *text));
    AddIds(document.root.Find("eos_token_id"), ids);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace horizon

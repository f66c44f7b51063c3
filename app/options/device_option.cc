#include "app/options/device_option.h"

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "planner/profile/probe_cuda.h"
#include "runtime/device/cuda_survey.h"

namespace horizon {
namespace {

ChosenDevice Chosen(const CudaDeviceFacts& facts) {
  return {.name = {.kind = DeviceKind::kCuda, .index = facts.index},
          .model = facts.name,
          .description = StrCat(facts.name, ", ", ToString(facts.free_bytes), " of ",
                                ToString(facts.memory_bytes), " free"),
          .free_bytes = facts.free_bytes};
}

std::string DescribeChoice(const ChosenDevice& chosen) {
  return StrCat("device ", ToString(chosen.name), ": ", chosen.description);
}

// The first device that can be used; otherwise the reason of the first that cannot.
ChosenDevice ChooseAny(const CommandContext& context) {
  const CudaSurvey survey = SurveyCuda();
  absl::Status why = survey.usable;
  for (const CudaDeviceFacts& facts : survey.devices) {
    if (facts.usable.ok()) {
      ChosenDevice chosen = Chosen(facts);
      context.log.Info(DescribeChoice(chosen));
      return chosen;
    }
    if (why.ok()) why = facts.usable;
  }
  context.log.Info(StrCat("device host: ", std::string(why.message())));
  return {};
}

}  // namespace

Bytes ChosenDevice::usable_bytes() const {
  return free_bytes > kCudaReservedBytes ? free_bytes - kCudaReservedBytes : 0_B;
}

Option DeviceOption(std::string& value) {
  return {.name = "device",
          .value = &value,
          .unit = "auto|host|cuda[:N]",
          .help = "Device that computes; auto is a CUDA device if there is one, else the host"};
}

absl::StatusOr<ChosenDevice> ChooseDevice(const CommandContext& context, const std::string& word) {
  if (word == "auto") return ChooseAny(context);
  absl::StatusOr<DeviceName> name = ParseDeviceName(word);
  if (!name.ok()) {
    return absl::InvalidArgumentError(
        StrCat("--device ", word,
               ": use auto, host, cuda or cuda:N; `horizon devices` lists what "
               "this machine has"));
  }
  if (name->kind == DeviceKind::kHost) return ChosenDevice{};
  const CudaSurvey survey = SurveyCuda();
  RETURN_IF_ERROR(survey.usable);
  for (const CudaDeviceFacts& facts : survey.devices) {
    if (facts.index != name->index) continue;
    RETURN_IF_ERROR(facts.usable);
    ChosenDevice chosen = Chosen(facts);
    context.log.Info(DescribeChoice(chosen));
    return chosen;
  }
  const size_t count = survey.devices.size();
  return absl::InvalidArgumentError(StrCat("--device ", word, ": there ",
                                           count == 1 ? "is " : "are ", count, " CUDA device",
                                           count == 1 ? "" : "s", ", counted from 0"));
}

}  // namespace horizon

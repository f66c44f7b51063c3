#include <memory>
#include <string>
#include <utility>

#include "app/answers/device_list.h"
#include "app/commands/commands.h"
#include "common/status_macros.h"
#include "planner/profile/host/host_limits.h"
#include "runtime/device/cuda_survey.h"
#include "runtime/device/nvml.h"

namespace horizon {
namespace {

class DevicesCommand : public Command {
 public:
  std::string_view name() const override { return "devices"; }
  std::string_view summary() const override {
    return "List the devices of this machine, and why one cannot be used";
  }
  std::string_view details() const override {
    return "The host is always a device. NVIDIA devices are queried through CUDA and through the "
           "driver's library (NVML), which also knows the PCIe generation and lanes, now and at "
           "most.";
  }
  OptionList Options() override {
    return {.options = {
                {.name = "json", .value = &json_, .help = "Answer in JSON"},
                {.name = "nvml-library",
                 .value = &nvml_library_,
                 .unit = "file",
                 .help = "Path of the NVML library, where it is in an unusual place"},
            }};
  }
  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(HostLimits host, ReadHostLimits(context.io));
    const DeviceList list{
        .host = std::move(host), .cuda = SurveyCuda(), .nvml = SurveyNvml(nvml_library_)};
    return context.output.Write(json_ ? DeviceListJson(list) : DeviceListText(list));
  }

 private:
  bool json_ = false;
  std::string nvml_library_ = kNvmlLibrary;
};

}  // namespace

std::unique_ptr<Command> MakeDevicesCommand() { return std::make_unique<DevicesCommand>(); }

}  // namespace horizon

#include "app/options/planning_options.h"

#include <utility>

#include "app/options/device_option.h"
#include "app/this_machine.h"
#include "common/status_macros.h"
#include "planner/machines/machine_catalog.h"

namespace horizon {

Option ModelOption(OptionTarget target) {
  return {.name = "model",
          .value = target,
          .unit = "name or path",
          .help = "Catalog name, Hugging Face id, model folder or config.json",
          .required = true};
}

Option MachineOption(OptionTarget target) {
  return {.name = "machine",
          .value = target,
          .unit = "name or file",
          .help = "A machine of 'horizon machines', a profile in JSON, or 'this' one",
          .required = std::holds_alternative<std::vector<std::string>*>(target)};
}

void OverrideOptions::AddTo(OptionList& list) {
  list.options.push_back({.name = "host-memory",
                          .value = &host_memory,
                          .unit = "bytes",
                          .help = "As if the machine had this much RAM (768GiB)",
                          .minimum = 1});
  list.options.push_back({.name = "device-memory",
                          .value = &device_memory,
                          .unit = "bytes",
                          .help = "As if the device had this much memory (24GiB)",
                          .minimum = 1});
  list.options.push_back({.name = "link",
                          .value = &link,
                          .unit = "bytes/s",
                          .help = "As if the link carried this much one way (26GB/s)"});
  list.options.push_back({.name = "cores",
                          .value = &cores,
                          .unit = "cores",
                          .help = "As if the host had this many cores",
                          .minimum = 1,
                          .maximum = 4096});
}

absl::StatusOr<HardwareProfile> OverrideOptions::Load(const CommandContext& context,
                                                      const std::string& machine) const {
  HardwareProfile profile;
  if (machine == kThisMachine) {
    ASSIGN_OR_RETURN(const ChosenDevice device, ChooseDevice(context, "auto"));
    ASSIGN_OR_RETURN(profile, ProfileOfThisMachine(context, device));
  } else {
    ASSIGN_OR_RETURN(profile, LoadMachine(context.io, machine));
    LogProfileSource(context, machine, profile);
  }
  return WithOverrides(
      std::move(profile),
      {.host_memory = host_memory, .device_memory = device_memory, .link = link, .cores = cores});
}

}  // namespace horizon

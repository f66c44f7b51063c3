#include "app/options/planning_options.h"

#include <utility>

#include "app/options/device_option.h"
#include "app/this_machine.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "planner/machines/machine_catalog.h"

namespace horizon {

Option ModelOption(OptionTarget target) {
  return {.name = "model",
          .value = target,
          .unit = "name or path",
          .help = "Model: a catalog name, a Hugging Face id, a model folder or a config.json",
          .required = true,
          .words = WordKind::kModel};
}

Option MachineOption(OptionTarget target) {
  return {.name = "machine",
          .value = target,
          .unit = "name or file",
          .help = "Machine: a name from 'horizon machines', a profile file, or 'this' one",
          .required = std::holds_alternative<std::vector<std::string>*>(target),
          .words = WordKind::kMachine};
}

void OverrideOptions::AddTo(OptionList& list) {
  const size_t first = list.options.size();
  const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
  add({.name = "host-memory",
       .value = &host_memory,
       .unit = "bytes",
       .help = "RAM, such as 768GiB",
       .minimum = 1});
  add({.name = "device-memory",
       .value = &device_memory,
       .unit = "bytes",
       .help = "Memory of the device, such as 24GiB",
       .minimum = 1});
  add({.name = "dram",
       .value = &dram,
       .unit = "bytes/s",
       .help = "Bandwidth of host memory, such as 300GB/s; AdamW and other passes over it scale "
               "alike"});
  add({.name = "link",
       .value = &link,
       .unit = "bytes/s",
       .help = "Bandwidth between host and device in one direction, such as 26GB/s"});
  add({.name = "cores",
       .value = &cores,
       .unit = "cores",
       .help = "Cores of the host",
       .minimum = 1,
       .maximum = 4096});
  SetGroup(list, first, "As if the machine had");
}

MachineOverrides OverrideOptions::Changes() const {
  return {.host_memory = host_memory,
          .device_memory = device_memory,
          .dram = dram,
          .link = link,
          .cores = cores};
}

std::string OverrideOptions::HeadingLine() const {
  return any() ? StrCat("  as if with ", OverridesText(Changes()), "\n") : "";
}

bool OverrideOptions::any() const {
  return host_memory.has_value() || device_memory.has_value() || dram.has_value() ||
         link.has_value() || cores.has_value();
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
  return WithOverrides(std::move(profile), Changes());
}

}  // namespace horizon

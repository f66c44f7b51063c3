#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/answers/machine_summary.h"
#include "app/answers/machine_text.h"
#include "app/commands/commands.h"
#include "app/options/device_option.h"
#include "app/options/planning_options.h"
#include "app/this_machine.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "planner/machines/machine_catalog.h"
#include "simulator/hardware_profile.h"

namespace horizon {
namespace {

std::string RateText(double rate) { return ToString(BytesPerSecond{rate}); }
std::string FlopsText(double rate) { return ToString(FlopsPerSecond{rate}); }

// Estimates are shown with three digits.
double Rounded(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / unit) * unit;
}

std::string ListText(const std::vector<HardwareProfile>& machines) {
  TextTable table(
      {"machine", "device", "memory", "bf16 GEMM", "link", "host RAM", "DRAM", "cores"});
  for (const HardwareProfile& machine : machines) {
    table.AddRow({machine.name, machine.device.name,
                  MachineBytesText(machine.device.memory_bytes.value),
                  FlopsText(Rounded(machine.device.gemm_bf16.Highest())),
                  RateText(Rounded(machine.link.h2d_pinned.Highest())),
                  MachineBytesText(machine.host.memory_bytes.value),
                  RateText(Rounded(machine.host.dram.Highest())), StrCat(machine.host.cores)});
  }
  return StrCat(
      std::move(table).Finish(),
      "\nRates are the highest we expect to be reached, not the makers' peaks; the link's "
      "is one way.\n'horizon machines NAME' shows every figure of a machine and where it "
      "comes from.\n");
}

uint64_t Whole(const Figure& figure) { return static_cast<uint64_t>(figure.value); }

std::string ListJson(const std::vector<HardwareProfile>& machines) {
  JsonWriter json;
  json.BeginObject().Key("machines").BeginArray();
  for (const HardwareProfile& machine : machines) {
    json.BeginObject();
    json.Key("name").String(machine.name);
    json.Key("summary").String(machine.summary);
    json.Key("device").String(machine.device.name);
    json.Key("device_memory_bytes").Unsigned(Whole(machine.device.memory_bytes));
    json.Key("gemm_bf16_flops_per_second").Number(machine.device.gemm_bf16.Highest());
    json.Key("link_bytes_per_second").Number(machine.link.h2d_pinned.Highest());
    json.Key("host_memory_bytes").Unsigned(Whole(machine.host.memory_bytes));
    json.Key("dram_bytes_per_second").Number(machine.host.dram.Highest());
    json.Key("cores").Integer(machine.host.cores);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Finish();
}

class MachinesCommand : public Command {
 public:
  std::string_view name() const override { return "machines"; }
  std::string_view summary() const override {
    return "List the machines known by name, or show all figures of one";
  }
  std::string_view details() const override {
    return "To describe a machine of your own, start from one that resembles it:\n"
           "  horizon machines h100-pcie --json > mine.json\n"
           "edit the file, look at it with 'horizon machines mine.json', and give it wherever a\n"
           "machine is asked for: --machine mine.json.\n";
  }
  OptionList Options() override {
    return {
        .options = {{.name = "json",
                     .value = &json_,
                     .help = "Answer in JSON; with NAME, as a machine file"}},
        .positionals = {
            {.name = "NAME",
             .value = &machine_,
             .help = "A machine of the list, a machine file, or 'this' one as it was measured"}}};
  }

  absl::Status Run(const CommandContext& context) override {
    if (machine_.has_value()) return ShowOne(context);
    std::vector<HardwareProfile> machines;
    for (const std::string& name : MachineNames()) {
      ASSIGN_OR_RETURN(machines.emplace_back(), LoadMachine(context.io, name));
    }
    return context.output.Write(json_ ? ListJson(machines) : ListText(machines));
  }

 private:
  absl::Status ShowOne(const CommandContext& context) {
    ASSIGN_OR_RETURN(const HardwareProfile machine, LoadOne(context));
    if (!json_) {
      return context.output.Write(MachineText(machine, context.clock.UnixSeconds()));
    }
    return context.output.Write(WriteProfile(machine));
  }

  absl::StatusOr<HardwareProfile> LoadOne(const CommandContext& context) {
    if (*machine_ != kThisMachine) return LoadMachine(context.io, *machine_);
    ASSIGN_OR_RETURN(const ChosenDevice device, ChooseDevice(context, "auto"));
    return ProfileOfThisMachine(context, device);
  }

  std::optional<std::string> machine_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeMachinesCommand() { return std::make_unique<MachinesCommand>(); }

}  // namespace horizon

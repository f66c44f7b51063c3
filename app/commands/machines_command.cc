#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "app/answers/machine_summary.h"
#include "app/answers/machine_text.h"
#include "app/commands/commands.h"
#include "app/options/device_option.h"
#include "app/options/planning_options.h"
#include "app/this_machine.h"
#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/text/wrap.h"
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

std::string ListText(const std::vector<HardwareProfile>& machines, size_t columns) {
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
      std::move(table).Finish(columns),
      WrapMessage("\nRates are the highest we expect to be reached, not the makers' peaks; the "
                  "link's is one way.\n'horizon machines NAME' shows every figure of a machine and "
                  "where it comes from.\n",
                  {.width = columns}));
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

bool IsNameLetter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-' ||
         letter == '.' || letter == '_';
}

class MachinesCommand : public Command {
 public:
  std::string_view name() const override { return "machines"; }
  CommandGroup group() const override { return CommandGroup::kPlan; }
  std::string_view summary() const override {
    return "List the machines known by name, show one, or describe one of your own";
  }
  std::string_view details() const override {
    return "To describe a machine of your own, start from one that resembles it and say what is "
           "different:\n"
           "  horizon machines --from rtx4090 --host-memory 256GiB --output mybox.json\n"
           "Then give the file wherever a machine is asked for: --machine mybox.json. Every figure "
           "in it says where it comes from, and it can be edited.\n";
  }
  OptionList Options() override {
    OptionList list{
        .options = {{.name = "json",
                     .value = &json_,
                     .help = "Answer in JSON; for one machine, as a machine file"}},
        .positionals = {
            {.name = "NAME",
             .value = &machine_,
             .help = "Machine to show: a name of the list, a machine file, or 'this' one as it was "
                     "measured (default all, as a list)",
             .words = WordKind::kMachine}}};
    const size_t first = list.options.size();
    const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
    add({.name = "from",
         .value = &from_,
         .unit = "name or file",
         .help = "Machine to start from",
         .words = WordKind::kMachine});
    overrides_.AddTo(list);
    add({.name = "name",
         .value = &name_,
         .unit = "name",
         .help = "Name of the machine (default the name of the --output file)"});
    add({.name = "output", .value = &output_, .unit = "file", .help = "File to write it to"});
    SetGroup(list, first, "A machine of your own");
    return list;
  }

  absl::Status Run(const CommandContext& context) override {
    if (from_.has_value()) return DescribeOwn(context);
    if (overrides_.any() || name_.has_value() || output_.has_value()) {
      return absl::InvalidArgumentError(
          "--name, --output and the options for another machine need --from MACHINE, which says "
          "what "
          "to start from");
    }
    if (machine_.has_value()) return ShowOne(context);
    std::vector<HardwareProfile> machines;
    for (const std::string& name : MachineNames()) {
      ASSIGN_OR_RETURN(machines.emplace_back(), LoadMachine(context.io, name));
    }
    return context.output.Write(json_ ? ListJson(machines)
                                      : ListText(machines, context.answer_columns()));
  }

 private:
  absl::Status ShowOne(const CommandContext& context) {
    ASSIGN_OR_RETURN(const HardwareProfile machine, LoadOne(context));
    if (!json_) {
      return context.output.Write(
          MachineText(machine, context.clock.UnixSeconds(), context.answer_columns()));
    }
    return context.output.Write(WriteProfile(machine));
  }

  absl::Status DescribeOwn(const CommandContext& context) {
    if (machine_.has_value()) {
      return absl::InvalidArgumentError(
          StrCat("'", *machine_, "' and --from ", *from_, " name two machines; give one of them"));
    }
    ASSIGN_OR_RETURN(const std::string name, OwnName());
    ASSIGN_OR_RETURN(const HardwareProfile base, OverrideOptions().Load(context, *from_));
    MachineOverrides changes = overrides_.Changes();
    changes.because = StrCat("given to 'horizon machines --from ", base.name, "'");
    const HardwareProfile own = OwnMachine(base, changes, name);
    if (output_.has_value()) {
      RETURN_IF_ERROR(WriteTextFile(context.io, *output_, WriteProfile(own)));
      context.log.Info(StrCat("wrote ", *output_, "; use it as --machine ", *output_));
    }
    return context.output.Write(
        json_ ? WriteProfile(own)
              : MachineText(own, context.clock.UnixSeconds(), context.answer_columns()));
  }

  // --name, or the name of the file.
  absl::StatusOr<std::string> OwnName() const {
    std::string name = name_.value_or("");
    if (!name_.has_value() && output_.has_value()) {
      name = output_->substr(output_->rfind('/') + 1);
      if (name.ends_with(".json")) name.resize(name.size() - 5);
      name = absl::AsciiStrToLower(name);
      for (char& letter : name) letter = IsNameLetter(letter) ? letter : '-';
    } else if (!name_.has_value()) {
      name = "own";
    }
    if (name.empty() || !std::all_of(name.begin(), name.end(), IsNameLetter)) {
      return absl::InvalidArgumentError(
          StrCat("--name '", name, "': a name has small letters, digits, '-', '.' and '_'"));
    }
    if (FindMachine(name) != nullptr) {
      return absl::InvalidArgumentError(
          StrCat("'", name, "' is a machine of the catalog; choose another name with --name"));
    }
    return name;
  }

  absl::StatusOr<HardwareProfile> LoadOne(const CommandContext& context) {
    if (*machine_ != kThisMachine) return LoadMachine(context.io, *machine_);
    ASSIGN_OR_RETURN(const ChosenDevice device, ChooseDevice(context, "auto"));
    return ProfileOfThisMachine(context, device);
  }

  std::optional<std::string> machine_;
  std::optional<std::string> from_;
  OverrideOptions overrides_;
  std::optional<std::string> name_;
  std::optional<std::string> output_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeMachinesCommand() { return std::make_unique<MachinesCommand>(); }

}  // namespace horizon

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/answers/machine_text.h"
#include "app/commands/commands.h"
#include "app/options/device_option.h"
#include "app/this_machine.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

class ProfileCommand : public Command {
 public:
  std::string_view name() const override { return "profile"; }
  CommandGroup group() const override { return CommandGroup::kPlan; }
  std::string_view summary() const override {
    return "Measure this machine, for plans and predictions";
  }
  std::string_view details() const override {
    return "Measures GEMMs, attention, copies, memory and AdamW with the kernels that a run uses, "
           "by size and by number of threads; and how the host is built, what this process may use "
           "of it, and the disk. The profile is kept in the user's cache folder, where 'horizon "
           "train' and 'horizon plan' find it, and every --machine takes the file. Takes less than "
           "3 minutes, with --quick less than 20 seconds; needs no root.";
  }
  OptionList Options() override {
    return {.options = {
                DeviceOption(device_),
                {.name = "quick", .value = &quick_, .help = "Measure fewer sizes, in less time"},
                {.name = "folder",
                 .value = &folder_,
                 .unit = "folder",
                 .help = "Folder whose disk is measured (default the current folder)"},
                {.name = "output",
                 .value = &output_,
                 .unit = "file",
                 .help = "Also write the profile to this file, for --machine"},
                {.name = "nvml-library",
                 .value = &nvml_library_,
                 .unit = "file",
                 .help = "Path of the NVML library, where it is in an unusual place"},
                {.name = "json", .value = &json_, .help = "Print the profile as JSON"}}};
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const ChosenDevice device, ChooseDevice(context, device_));
    ASSIGN_OR_RETURN(
        const CachedProfile kept,
        MeasureThisMachine(context, device,
                           {.depth = quick_ ? ProfileDepth::kQuick : ProfileDepth::kFull,
                            .disk_folder = folder_.value_or("."),
                            .disk_needed = folder_.has_value(),
                            .nvml_library = nvml_library_}));
    if (output_.has_value()) {
      RETURN_IF_ERROR(WriteTextFile(context.io, *output_, WriteProfile(kept.profile)));
      context.log.Info(StrCat("wrote ", *output_));
    }
    if (!kept.path.empty()) context.log.Info(StrCat("kept in ", kept.path));
    return context.output.Write(
        json_ ? WriteProfile(kept.profile)
              : MachineText(kept.profile, context.clock.UnixSeconds(), context.answer_columns()));
  }

 private:
  std::string device_ = "auto";
  bool quick_ = false;
  std::optional<std::string> folder_;
  std::optional<std::string> output_;
  std::string nvml_library_ = kNvmlLibrary;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeProfileCommand() { return std::make_unique<ProfileCommand>(); }

}  // namespace horizon

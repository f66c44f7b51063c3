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
  std::string_view summary() const override {
    return "Measure this machine, for plans and predictions";
  }
  std::string_view details() const override {
    return "Products, attention, copies, memory, Adam: with the kernels a run uses, by size and "
           "by\n"
           "threads; how the host is built, what this process may use of it, and the disk. The "
           "profile is\n"
           "kept in the user's cache folder, where `train` and `plan` find it, and can be passed "
           "to every\n"
           "`--machine`. Takes under 3 minutes, --quick under 20 s; needs no root.";
  }
  OptionList Options() override {
    return {.options = {DeviceOption(device_),
                        {.name = "quick", .value = &quick_, .help = "Fewer sizes, less time"},
                        {.name = "folder",
                         .value = &folder_,
                         .unit = "folder",
                         .help = "Measure the disk there; if not given, of the current folder"},
                        {.name = "output",
                         .value = &output_,
                         .unit = "file",
                         .help = "Write the profile here too, as JSON for --machine"},
                        {.name = "nvml-library",
                         .value = &nvml_library_,
                         .unit = "file",
                         .help = "The driver's library to ask, where it lies in an unusual place"},
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
    return context.output.Write(json_ ? WriteProfile(kept.profile)
                                      : MachineText(kept.profile, context.clock.UnixSeconds()));
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
